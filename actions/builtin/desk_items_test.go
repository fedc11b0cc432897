package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

func (d *desk) items(each string, where map[string]any) []actions.Item {
	d.t.Helper()
	var out []actions.Item
	for item, err := range d.tells.Items(d.t.Context(), each, where) {
		if err != nil {
			d.t.Fatal(err)
		}
		out = append(out, item)
	}
	return out
}

// TestItems finds the items of a schedule by every filter of the language.
func TestItems(t *testing.T) {
	d := newDesk(t)
	d.do("add_labels", m{"labels": []any{"vip"}})
	d.do("update_contact", m{"add_labels": []any{"vip"}})
	d.do("update_card", m{"priority": "high", "label": "vip", "due": "2026-11-13"})
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}))
	must(d.Advance(t.Context(), 2*time.Hour))
	other := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: nobody, Name: "Bia Rocha", Text: "good evening"}))
	group := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: nobody, Text: "to all", Group: "Family"}))
	must(d.client.UpdateConversation(t.Context(), group.Conversation.String(), service.ConversationPatch{Archived: service.Set(true)}))
	bia := must(d.client.GetConversation(t.Context(), other.Conversation.String())).ContactID
	lone := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Nobody's order"}))
	must(d.MoveCard(sandbox.MoveCard{Card: lone.ID.String(), Stage: "Won", Person: "Bruno"}))
	caio := must(d.client.CreateContact(t.Context(), service.NewContact{Name: "Caio", Phone: "+5511966665555", ChannelID: d.id(service.KindChannel, "Main")}))
	protocol := must(d.client.GetAttendance(t.Context(), d.attendance)).Protocol

	ana := "conversation:" + d.conversation
	biaLane, family, loneLane := "conversation:"+other.Conversation.String(), "conversation:"+group.Conversation.String(), "card:"+lone.ID.String()
	for _, c := range []struct {
		each  string
		where m
		want  []string // lanes, in any order
	}{
		{"attendances", nil, []string{ana, biaLane, family}},
		{"attendances", m{"status": "open", "assignee": "none"}, []string{biaLane, family}},
		{"attendances", m{"assignee": "Bruno"}, []string{ana}},
		{"attendances", m{"sector": "sales"}, []string{ana}},
		{"attendances", m{"conversation": d.conversation}, []string{ana}},
		{"attendances", m{"protocol": protocol}, []string{ana}},
		{"attendances", m{"from": friday.Add(time.Hour)}, []string{biaLane, family}},
		{"attendances", m{"to": "2026-11-13T18:00:00-03:00"}, []string{ana}},
		{"attendances", m{"from": "2026-11-14"}, nil},
		{"attendances", m{"status": "closed"}, nil},
		{"conversations", nil, []string{ana, biaLane, family}},
		{"conversations", m{"archived": true}, []string{family}},
		{"conversations", m{"archived": false, "kind": "direct"}, []string{ana, biaLane}},
		{"conversations", m{"q": "Rocha"}, []string{biaLane}},
		{"conversations", m{"unread": true, "channel": "main"}, []string{ana, biaLane, family}},
		{"conversations", m{"assignee": "none", "kind": "direct"}, []string{biaLane}},
		{"conversations", m{"assignee": "Bruno", "sector": "Sales"}, []string{ana}},
		{"conversations", m{"label": "vip"}, []string{ana}},
		{"contacts", m{"label": "VIP"}, []string{"contact:" + d.contact}},
		{"contacts", m{"q": "Rocha"}, []string{"contact:" + bia}},
		{"contacts", m{"channel": "Main"}, []string{"contact:" + caio.ID}},
		{"cards", m{"board": "Sales"}, []string{ana, loneLane}},
		{"cards", m{"board": "Sales", "status": "open"}, []string{ana}},
		{"cards", m{"board": "sales", "q": "nobody", "status": "all"}, []string{loneLane}},
		{"cards", m{"priority": "high"}, []string{ana}},
		{"cards", m{"label": "vip", "due": "today", "tz": "UTC"}, []string{ana}},
	} {
		t.Run(fmt.Sprint(c.each, c.where), func(t *testing.T) {
			var lanes []string
			for _, item := range d.items(c.each, c.where) {
				lanes = append(lanes, item.Lane)
			}
			slices.Sort(lanes)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, lanes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestItemsComeBackAsFacts records items like a journal: their events carry what the desk fetches
// for the same object.
func TestItemsComeBackAsFacts(t *testing.T) {
	d := newDesk(t)
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: d.conversation, Person: "Bruno", Text: "hi"}))
	d.do("update_card", m{"due": "2026-11-20"})
	for each, name := range map[string]string{"attendances": "attendance", "conversations": "conversation", "contacts": "contact", "cards": "card"} {
		items := d.items(each, nil)
		if len(items) == 0 {
			t.Errorf("there are no %s", each)
		}
		for _, item := range items {
			var e rules.Event
			if err := json.Unmarshal(must(json.Marshal(rules.Event{ID: "tick", Type: "schedule", Lane: item.Lane, Data: item.Data})), &e); err != nil {
				t.Fatal(err)
			}
			facts, about, err := d.tells.Carried(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			carried, ok := facts[name].(m)
			if !ok || carried["id"] != item.ID || about.Lane() != item.Lane {
				t.Errorf("%s: %v, %+v", each, facts, about)
			}
			fits(t, name, factTypes[name], carried)
			if fetched, err := d.tells.Fact(t.Context(), name, &about); err != nil || !cmp.Equal(fetched, facts[name]) {
				t.Errorf("%s, %v (-fetched +carried):\n%s", each, err, cmp.Diff(fetched, facts[name]))
			}
		}
	}
}

// TestItemsOfManyPages reads lists that shift meanwhile: no item comes twice, and none that was
// there all the time is missing.
func TestItemsOfManyPages(t *testing.T) {
	d := newDesk(t)
	for i := range 230 {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", i), Name: fmt.Sprint("Customer ", i), Text: "hello"}))
	}
	for _, each := range []string{"attendances", "conversations", "contacts", "cards"} {
		there := map[string]bool{}
		for _, item := range d.items(each, nil) {
			there[item.ID] = true
		}
		if len(there) < 231 {
			t.Fatalf("%s: %d", each, len(there))
		}
		n, seen := 0, map[string]bool{}
		for item, err := range d.tells.Items(t.Context(), each, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[item.ID] {
				t.Errorf("%s: %s came twice", each, item.ID)
			}
			seen[item.ID] = true
			if n++; n%50 == 0 {
				must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55118%d%05d", 100+len(each), n), Name: "Late", Text: "me too"}))
				must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", 3), Text: "still there?"}))
			}
		}
		for id := range there {
			if !seen[id] {
				t.Errorf("%s: %s was left out", each, id)
			}
		}
	}
}

// TestItemsOfAnotherService reads lists with repeated items, and with items that have no object.
func TestItemsOfAnotherService(t *testing.T) {
	page := 0
	tells := deskAnswering(t, func() any {
		page++
		return m{"data": []m{{"id": fmt.Sprint("k", page)}, {"id": fmt.Sprint("k", page+1)}}, "next_cursor": []any{"a", "b", nil}[page-1]}
	})
	var ids []string
	for item, err := range tells.Items(t.Context(), "cards", nil) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, item.ID)
	}
	if diff := cmp.Diff([]string{"k1", "k2", "k3", "k4"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	nameless := deskAnswering(t, func() any { return []m{{"title": "x"}} })
	for item, err := range nameless.Items(t.Context(), "cards", nil) {
		if !actions.IsPermanent(err) {
			t.Errorf("a card without an id: %v, %v", item, err)
		}
	}
	// What is no object is no fact either.
	for _, name := range []string{"message", "conversation", "contact", "attendance", "card"} {
		about := actions.Subject{Message: "x", Conversation: "x", Contact: "x", Attendance: "x", Card: "x"}
		if fact, err := deskAnswering(t, func() any { return m{} }).Fact(t.Context(), name, &about); !actions.IsPermanent(err) {
			t.Errorf("%s: %v, %v", name, fact, err)
		}
	}
}

// TestDaysOfDueDates shows in which zone today and overdue are computed.
func TestDaysOfDueDates(t *testing.T) {
	lisbon := must(time.LoadLocation("Europe/Lisbon"))
	d := newDesk(t, func(o *builtin.Options) { o.Location = lisbon })
	for zone, where := range map[string]m{"Europe/Lisbon": {"due": "today"}, "America/Lima": {"due": "today", "tz": "America/Lima"}} {
		var asked string
		d.faults.see(func(r *http.Request) { asked = r.URL.Query().Get("tz") })
		if d.items("cards", where); asked != zone {
			t.Errorf("asked for the days of %q, want %s", asked, zone)
		}
	}
}

func TestItemsThatCannotBeFound(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		each, message string
		where         m
	}{
		{"attendances", `there is no sector named "Suport"; did you mean Support?`, m{"sector": "Suport"}},
		{"attendances", "assignee is empty", m{"assignee": nil}},
		{"attendances", "conversation is empty", m{"conversation": " "}},
		{"attendances", "from must be a day or a time", m{"from": "yesterday"}},
		{"conversations", "archived must be true or false", m{"archived": "perhaps"}},
		{"conversations", `have no filter "priority"`, m{"priority": "high"}},
		{"cards", "400", m{"priority": "highest"}},
		{"meetings", `there is no list of "meetings"`, nil},
	} {
		n := 0
		for item, err := range d.tells.Items(t.Context(), c.each, c.where) {
			if n++; !actions.IsPermanent(err) || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s %v: %v, %v", c.each, c.where, item, err)
			}
		}
		if n != 1 {
			t.Errorf("%s %v: %d answers", c.each, c.where, n)
		}
	}
	// If the service fails on the way, the list ends with the error; a caller may also stop early.
	for i := range 120 {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", i), Name: fmt.Sprint("Customer ", i), Text: "hello"}))
	}
	d.faults.fail(2, "status_before", 503)
	n := 0
	var last error
	for _, err := range d.tells.Items(t.Context(), "attendances", nil) {
		n, last = n+1, err
	}
	if n != 101 || last == nil || actions.IsPermanent(last) {
		t.Errorf("%d items, %v", n, last)
	}
	for range d.tells.Items(t.Context(), "contacts", nil) {
		break
	}
}
