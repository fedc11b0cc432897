package alerts

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/service"
)

// A Message is what is told at once.
type Message struct {
	ID        string    `json:"id"` // the same on every repeat
	Kind      Kind      `json:"type"`
	CreatedAt time.Time `json:"created_at"`
	Text      string    `json:"text"` // all of it, for people
	Link      string    `json:"link,omitempty"`
	Items     []Item    `json:"items"`
	More      int       `json:"more,omitempty"` // things that are not listed
}

// A Kind is a kind of message.
type Kind string

// The kinds of messages.
const (
	KindAlert    Kind = "alert"
	KindAllClear Kind = "all_clear"
	KindTest     Kind = "test"
)

// An Item is one thing that needs a person, as a message has it.
type Item struct {
	Kind      attention.Kind `json:"kind"`
	Title     string         `json:"title"`
	Workspace string         `json:"workspace,omitempty"`
	Rule      string         `json:"rule,omitempty"` // its id
	By        string         `json:"by,omitempty"`   // who stopped it
	Since     time.Time      `json:"since"`
	Until     time.Time      `json:"until,omitzero"` // if it is over
}

const (
	maxListed = 5   // things that a message lists
	maxTitle  = 160 // characters of a title
	maxName   = 60  // characters of a customer's name
)

// A namedChannel knows what a message proves that arrives by it.
type namedChannel struct{ Channel }

// proves reports whether a thing is over as soon as a message arrives this way: one that a phone
// receives through the service says that messages get through again.
func (w namedChannel) proves(key string) bool {
	p, ok := w.Channel.(*Phone)
	return ok && key == attention.OutageKey(p.Workspace, attention.CheckSends)
}

// compose writes a message as things stand now.
func (s *state) compose(of *sending, w namedChannel, customers map[string]string, now time.Time, o *Options) Message {
	m := Message{ID: of.ID, Kind: KindAllClear, CreatedAt: now.UTC(), Link: o.Link, Items: []Item{}}
	open := 0
	for key, t := range s.Items {
		if t.Gone.IsZero() && !w.proves(key) {
			m.Kind = KindAlert
		}
	}
	for _, key := range of.Keys {
		t := s.Items[key]
		if t == nil {
			continue
		}
		one := Item{Kind: t.Kind, Title: t.Title, Workspace: t.Workspace, Rule: t.Rule, Since: t.Since, Until: t.Gone}
		if t.item != nil {
			one.Title, one.By = titleOf(t.item, o.Language, customers[key]), t.item.By
		}
		switch {
		case w.proves(key) && t.Gone.IsZero():
			one.Until = now.UTC()
		case t.Gone.IsZero():
			open++
		}
		if len(m.Items) == maxListed {
			m.More++
			continue
		}
		m.Items = append(m.Items, one)
	}
	m.Text = m.words(open, now, o)
	return m
}

// words puts a message into words. Of its things some are open, and the others over.
func (m *Message) words(open int, now time.Time, o *Options) string {
	say := func(key string, args ...any) string { return phrases.Say(o.Language, phrases.Code(key), args...) }
	var lines []string
	switch {
	case m.Kind == KindAllClear:
		lines = append(lines, say("alert.clear"))
	case open == 0:
		lines = append(lines, say("alert.over"))
	case open == 1:
		lines = append(lines, say("alert.one"))
	default:
		lines = append(lines, say("alert.many", open))
	}
	hour := func(t time.Time) string { return hourOf(t.In(o.Location), now.In(o.Location)) }
	for _, one := range m.Items {
		title := one.Title
		if one.By != "" {
			title = say("alert.by", title, one.By)
		}
		if one.Until.IsZero() {
			lines = append(lines, "• "+say("alert.since", title, hour(one.Since)))
		} else {
			lines = append(lines, "• "+say("alert.until", title, hour(one.Since), hour(one.Until)))
		}
	}
	if m.More > 0 {
		lines = append(lines, say("alert.more", m.More))
	}
	if m.Link != "" {
		lines = append(lines, m.Link)
	}
	return strings.Join(lines, "\n")
}

// testMessage is an alert that says that it is a test.
func testMessage(now time.Time, o *Options) Message {
	m := Message{ID: newID(), Kind: KindTest, CreatedAt: now.UTC(), Text: phrases.Say(o.Language, "alert.test"), Link: o.Link, Items: []Item{}}
	if o.Link != "" {
		m.Text += "\n" + o.Link
	}
	return m
}

// hourOf writes the time of a moment of today, and of others the day too.
func hourOf(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("02/01 15:04")
}

// titleOf says what needs a person. A customer without a name is called one.
func titleOf(i *attention.Item, l phrases.Language, customer string) string {
	return cut(i.Title(l, cmp.Or(customer, phrases.Say(l, "alert.customer"))), maxTitle)
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// customers returns the names of the customers whom items are about, by the items' keys. A phone
// number is no name.
func (a *Alerts) customers(ctx context.Context, items []attention.Item) map[string]string {
	names := map[string]string{}
	for _, i := range items {
		if i.Lane == "" {
			continue
		}
		who, err := a.options.Journal.Who(ctx, i.Workspace, []string{i.Lane})
		if err != nil {
			continue // it is told without the name
		}
		name := cmp.Or(who[i.Lane].Name, who[i.Lane].Protocol)
		if name != "" && !service.IsPhone(who[i.Lane].Name) {
			names[i.Key] = cut(engine.Harmless(name), maxName)
		}
	}
	return names
}

// number is what may be a phone.
var number = regexp.MustCompile(`\+?\d[\d ().-]{6,}\d`)

// errorText returns what went wrong without addresses, which may be secret, and without phones.
func errorText(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return cut(engine.Harmless(number.ReplaceAllString(redact.Text(err.Error()), "…")), 200)
}
