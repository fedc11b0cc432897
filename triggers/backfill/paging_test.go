package backfill_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// A list is the service's list of conversations, which shifts while it is read.
type list struct {
	items   []map[string]any
	most    int                      // on a page
	after   func(l *list, pages int) // called after a page was read
	deaf    bool                     // ignores the offset
	sorted  bool                     // by name, not by last change
	changed []int                    // conversations with a message, by their places; nil is some of each part
	timer   bool                     // a periodic pass
	pages   int
}

func (l *list) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/v1/conversations" || l.items == nil || r.URL.Query().Get("archived") != "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	if l.deaf {
		offset = 0
	}
	from := min(offset, len(l.items))
	body, err := json.Marshal(map[string]any{"data": l.items[from:min(from+min(limit, l.most), len(l.items))]})
	l.pages++
	if l.after != nil {
		l.after(l, l.pages)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// read takes the conversations from the sandbox.
func (l *list) read(d *desk) {
	d.t.Helper()
	var items []map[string]any
	l.items = nil
	for c, err := range d.client.Conversations(d.t.Context(), service.ConversationQuery{}) {
		if err != nil {
			d.t.Fatal(err)
		}
		items = append(items, c.Raw)
	}
	if l.sorted {
		slices.SortFunc(items, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	}
	l.items, l.pages = items, 0
}

// A list of 250 conversations shifts while it is read: every message is found, and the walk ends.
func TestPagingWhileItMoves(t *testing.T) {
	for name, l := range map[string]*list{
		"it stays as it is": {most: 100},
		"some of the first page leave": {most: 100, sorted: true, after: func(l *list, n int) {
			if n == 1 {
				l.items = slices.Delete(l.items, 3, 6)
			}
		}},
		"much of the first page leaves": {most: 100, sorted: true, after: func(l *list, n int) {
			if n == 1 {
				l.items = slices.Delete(l.items, 5, 45)
			}
		}},
		"some of the second page leave": {most: 100, sorted: true, after: func(l *list, n int) {
			if n == 2 {
				l.items = slices.Delete(l.items, 120, 123)
			}
		}},
		"much of the second page leaves": {most: 100, sorted: true, after: func(l *list, n int) {
			if n == 2 {
				l.items = slices.Delete(l.items, 102, 142)
			}
		}},
		"one moves from the end to the front": {most: 100, sorted: true, after: func(l *list, n int) {
			if last := len(l.items) - 1; n == 2 {
				moved := l.items[last]
				l.items = slices.Insert(slices.Delete(l.items, last, last+1), 0, moved)
			}
		}},
		"many come to the front": {most: 100, sorted: true, after: func(l *list, n int) {
			if n == 1 {
				l.items = append(slices.Clone(l.items[200:]), l.items[:200]...)
			}
		}},
		"its pages are short":        {most: 30, sorted: true},
		"it has an order of its own": {most: 100, sorted: true, timer: true, changed: []int{240}},
	} {
		if testing.Short() && name != "one moves from the end to the front" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport, o.events = l, []string{"attendance.opened"} })
			const n = 250
			for i := range n {
				d.customer(i, "long ago")
				d.move(d.clock().Add(time.Second))
			}
			d.move(d.clock().Add(24 * time.Hour))
			d.pass(time.Minute)
			if l.changed == nil {
				l.changed = []int{0, 60, 99, 100, 101, 149, 151, 200, 249}
			}
			l.read(d)
			for _, i := range l.changed {
				must(d.CustomerMessage(sandbox.CustomerMessage{Name: l.items[i]["name"].(string), Text: "now"}))
			}
			d.move(d.clock().Add(8 * time.Minute))
			l.read(d)
			if !l.timer { // which relies on the order if there is one
				d.source.Wake("test")
			}
			d.source.Tick(t.Context())
			if got := len(d.of("message.received")); got != len(l.changed) {
				t.Errorf("%d of %d messages were found, with %d pages", got, len(l.changed), l.pages)
			}
			if l.pages > 40 {
				t.Errorf("%d pages", l.pages)
			}
		})
	}
}

// A service that ignores the offset does not cause an endless walk.
func TestOffsetIgnored(t *testing.T) {
	l := &list{most: 100, deaf: true}
	d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport, o.events = l, []string{"attendance.opened"} })
	for i := range 120 {
		d.customer(i, "hello")
	}
	d.pass(time.Minute)
	l.read(d)
	d.source.Wake("test")
	d.source.Tick(t.Context())
	if l.pages > 10 || l.pages == 0 {
		t.Errorf("%d pages", l.pages)
	}
}

// A pass over many conversations with few changes does not read the whole list every time.
func TestOldConversationsAreNotRead(t *testing.T) {
	l := &list{most: 100}
	d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport, o.events = l, []string{"attendance.opened"} })
	for i := range 500 {
		d.customer(i, "long ago")
	}
	d.move(d.clock().Add(24 * time.Hour))
	d.pass(time.Minute)
	for n, look := range []struct{ changed, most int }{
		{0, 20}, // the order is unknown until all are read
		{0, 2},
		{140, 5}, // more than a page
	} {
		for i := range look.changed {
			d.customer(i, "hello")
			d.move(d.clock().Add(time.Second))
		}
		d.move(d.clock().Add(7 * time.Minute))
		l.read(d)
		d.source.Tick(t.Context())
		if l.pages == 0 || l.pages > look.most {
			t.Errorf("look %d: %d pages", n, l.pages)
		}
	}
	if got := len(d.of("message.received")); got != 140 {
		t.Errorf("%d messages are found", got)
	}
}

// A list sorted by creation looks like one sorted by last change, as long as nothing happens in the
// older ones.
func TestOrderByChance(t *testing.T) {
	l := &list{most: 100}
	d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport, o.events = l, []string{"attendance.opened"} })
	for i := range 300 {
		d.customer(i, "long ago")
		d.move(d.clock().Add(time.Second))
	}
	d.move(d.clock().Add(24 * time.Hour))
	d.pass(time.Minute)
	for n := range 3 {
		d.customer(10, "now") // opened before 289 others
		d.move(d.clock().Add(10 * time.Minute))
		l.read(d)
		slices.SortStableFunc(l.items, func(a, b map[string]any) int {
			return strings.Compare(asText(b["created_at"]), asText(a["created_at"]))
		})
		d.source.Tick(t.Context())
		if got := len(d.of("message.received")); got != n+1 {
			t.Errorf("%d of %d messages are found", got, n+1)
		}
	}
}

// More messages than a page holds are found in a conversation.
func TestManyMessages(t *testing.T) {
	d := newDesk(t, talkRulesOnly)
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	for i := range 130 {
		d.customer(1, "message "+strconv.Itoa(i))
	}
	d.pass(10 * time.Minute)
	if got := len(d.of("message.received")); got != 130 {
		t.Errorf("%d of 130 messages", got)
	}
}

const talkRulesOnly = `
rules:
  - { id: on-received, when: message.received, do: [{ log: heard }] }
`

// If the list leaves out archived conversations, their messages are found too, also by a periodic
// pass.
func TestArchivedConversations(t *testing.T) {
	l := &list{most: 100}
	d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport, o.events = l, []string{"attendance.opened"} })
	w := d.customer(1, "long ago")
	d.customer(2, "long ago")
	must(d.client.UpdateConversation(t.Context(), w.Conversation.String(), service.ConversationPatch{Archived: service.Set(true)}))
	d.move(d.clock().Add(24 * time.Hour))
	d.pass(30 * time.Minute)
	l.read(d)
	l.items = slices.DeleteFunc(l.items, func(c map[string]any) bool { return c["archived"] == true })
	d.customer(1, "hello")
	d.pass(30 * time.Minute)
	if got := len(d.of("message.received")); got != 1 {
		t.Errorf("%d messages are found", got)
	}
}

// Pinned conversations come first, whatever their age.
func TestPinnedConversations(t *testing.T) {
	l := &list{most: 100}
	d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport, o.events = l, []string{"attendance.opened"} })
	for i := range 130 {
		d.customer(i, "long ago")
	}
	d.move(d.clock().Add(24 * time.Hour))
	d.pass(30 * time.Minute)
	d.customer(129, "hello")
	d.move(d.clock().Add(8 * time.Minute))
	l.read(d)
	slices.SortStableFunc(l.items, func(a, b map[string]any) int {
		return strings.Compare(asText(a["updated_at"]), asText(b["updated_at"]))
	})
	for _, c := range l.items[:120] {
		c["pinned"] = true
	}
	d.source.Tick(t.Context())
	if got := len(d.of("message.received")); got != 1 {
		t.Errorf("%d messages are found", got)
	}
}
