package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A story is a made-up scenario that a rule is tried on: a person acts, and time passes.
type story struct {
	Kind     string // the event that it is about, or schedule
	Customer string
	Text     string
	At       time.Time
	Answer   string        // what the customer writes later; may be empty
	After    time.Duration // how much later
	Pass     time.Duration // how long it lasts
}

// storyView are the fields of a story.
type storyView struct {
	Kinds  []optionView
	At     string // in the format of a datetime field
	Passes []optionView
	Zone   string
}

const (
	localTime    = "2006-01-02T15:04"
	storyLongest = 31 * 24 * time.Hour
	storyText    = 4000
)

// storyKinds are the events that can be made up.
var storyKinds = []string{vocabulary.MessageReceived, vocabulary.MessageSent, vocabulary.AttendanceOpened, vocabulary.AttendanceClosed, vocabulary.ConversationUpdated, vocabulary.CardCreated, vocabulary.CardMoved, "schedule"}

// storyOf returns the fields of a story that fits a rule.
func (c *Console) storyOf(q *request, f *draftFile) storyView {
	v := storyView{At: q.now.In(f.space.Location).Format(localTime), Zone: f.space.Location.String()}
	kind := storyKinds[0]
	if fields, err := form.Read(f.space.Editing.Rules.Catalog, []byte(f.text), f.rule); err == nil {
		if len(fields.When.Events) > 0 {
			kind = fields.When.Events[0]
		}
		if fields.When.Schedule != nil {
			kind = "schedule"
		}
	}
	for _, name := range storyKinds {
		v.Kinds = append(v.Kinds, optionView{name, q.words().T("story." + name), name == kind})
	}
	for _, length := range []string{"10m", "2h", "1d", "3d", "7d", "30d"} {
		v.Passes = append(v.Passes, optionView{length, q.words().T("pass." + length), length == "1d"})
	}
	return v
}

// readStory reads the fields of a story.
func readStory(q *request, zone *time.Location) (*story, error) {
	wrong := problem(http.StatusBadRequest, "error.form")
	s := &story{Kind: q.r.PostFormValue("story.kind"), Customer: strings.TrimSpace(q.r.PostFormValue("story.customer")), Text: q.r.PostFormValue("story.text"), Answer: q.r.PostFormValue("story.answer")}
	var err error
	if s.At, err = time.ParseInLocation(localTime, q.r.PostFormValue("story.at"), zone); err != nil {
		return nil, wrong
	}
	if s.Pass, err = duration.Parse(q.r.PostFormValue("story.pass")); err != nil || s.Pass > storyLongest {
		return nil, wrong
	}
	if s.Answer != "" {
		if s.After, err = duration.Parse(q.r.PostFormValue("story.after")); err != nil || s.After > storyLongest {
			return nil, problem(http.StatusConflict, "try.after")
		}
	}
	if s.Customer == "" {
		s.Customer = "Marina"
	}
	if len(s.Text)+len(s.Answer) > storyText || len(s.Customer) > 200 {
		return nil, wrong
	}
	return s, nil
}

// test returns the story as a test.
func (s *story) test(set *rules.Set) *rules.Test {
	const before = 10 * time.Minute // how long an attendance is open before the action on it
	t := &rules.Test{Name: "made up", Start: s.At, Given: map[string]any{"contacts": []any{map[string]any{"name": s.Customer, "phone": "+5511988887777"}}}}
	step := func(fields ...string) {
		m := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			if fields[i+1] != "" {
				m[fields[i]] = fields[i+1]
			}
		}
		t.Steps = append(t.Steps, rules.TestStep{Fields: m})
	}
	text := s.Text
	if text == "" {
		text = "…"
	}
	at := s.At.Format(time.RFC3339)
	switch s.Kind {
	case vocabulary.MessageSent:
		t.Start = s.At.Add(-before)
		step("customer", s.Customer, "says", "…")
		step("at", at, "team", "Bruno", "to", s.Customer, "says", text)
	case vocabulary.AttendanceClosed:
		t.Start = s.At.Add(-before)
		step("customer", s.Customer, "says", text)
		step("at", at, "team", "Bruno", "closes", s.Customer)
	case vocabulary.MessageReceived, vocabulary.AttendanceOpened:
		step("customer", s.Customer, "says", text)
	case vocabulary.CardCreated, vocabulary.CardMoved:
		t.Given["cards"] = []any{map[string]any{"board": boardOf(set), "title": s.Customer, "contact": s.Customer}}
		if s.Kind == vocabulary.CardMoved {
			step("team", "Bruno", "moves", s.Customer, "to", text)
		} else {
			step("event", s.Kind, "contact", s.Customer)
		}
	case "schedule":
		if s.Text != "" {
			step("customer", s.Customer, "says", text)
		}
	default:
		t.Start = s.At.Add(-before)
		step("customer", s.Customer, "says", text)
		step("at", at, "event", s.Kind, "contact", s.Customer)
	}
	if s.Answer != "" {
		step("at", s.At.Add(s.After).Format(time.RFC3339), "customer", s.Customer, "says", s.Answer)
	}
	step("at", s.At.Add(max(s.Pass, s.After)).Format(time.RFC3339))
	return t
}

// boardOf returns the board that rules name, else one that every imitation has.
func boardOf(set *rules.Set) string {
	for _, use := range set.Names() {
		if use.Kind == "board" {
			return use.Name
		}
	}
	return "Sales"
}
