package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

// newCard makes a card on the board Sales through the API.
func (d *desk) newCard(fields m) reply {
	d.t.Helper()
	board, _ := d.stage("Sales", "Lead")
	body := m{"board_id": board, "title": "Offer"}
	for name, v := range fields {
		body[name] = v
	}
	d.t.Helper()
	return d.api("POST /kanban/cards", body, "Idempotency-Key: "+fmt.Sprintf("card-%d-%v", len(d.Effects()), body["title"]))
}

func TestBoards(t *testing.T) {
	d := open(t)
	if err := d.AddState([]byte(`{"boards":[{"name":"Old","archived":true}]}`)); err != nil {
		t.Fatal(err)
	}
	names := func(r reply) []string {
		var out []string
		for _, b := range r.want(200).get("").([]any) {
			out = append(out, b.(m)["name"].(string))
		}
		return out
	}
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"a bare array", "", []string{"Attendances", "Sales"}},
		{"archived 0", "?archived=0", []string{"Attendances", "Sales"}},
		{"archived 1", "?archived=1", []string{"Old"}},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, names(d.api("GET /kanban/boards"+tt.query, nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	d.run(t, "archived true is refused", func(t *testing.T) { d.api("GET /kanban/boards?archived=true", nil).code(400, "invalid_request") })
	d.run(t, "stages", func(t *testing.T) {
		r := d.api("GET /kanban/boards/"+d.named("/kanban/boards", "Sales"), nil).want(200)
		if r.text("stages.3.name") != "Won" || r.get("stages.3.winning") != true || r.get("stages.0.winning") != false {
			t.Errorf("board %s", r.body)
		}
	})
	d.run(t, "only allowed boards are visible", func(t *testing.T) {
		attendances := d.named("/kanban/boards", "Attendances")
		d.ana()
		key, err := d.NewKey(sandbox.NewKey{Scopes: sandbox.Scopes, Boards: []string{"Sales"}})
		if err != nil {
			t.Fatal(err)
		}
		limited := "Authorization: Bearer " + key.APIKey
		if diff := cmp.Diff([]string{"Sales"}, names(d.api("GET /kanban/boards", nil, limited))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		d.api("GET /kanban/boards/"+attendances, nil, limited).code(404, "not_found")
		if got := d.api("GET /kanban/cards", nil, limited).want(200).ids(); len(got) != 0 {
			t.Errorf("cards of other boards %v", got)
		}
	})
}

func TestListCards(t *testing.T) {
	d := open(t)
	conversation := d.ana()
	contact := d.api("GET /conversations/"+conversation, nil).text("contact_id")
	ids := map[string]string{}
	ids["Attendance"] = d.api("GET /kanban/cards", nil).want(200).text("data.0.id")
	vip := d.label("vip")
	board, won := d.stage("Sales", "Won")
	for _, card := range []m{
		{"title": "None"},
		{"title": "Today", "due_date": "2026-11-13", "priority": "high"},
		{"title": "Tonight", "due_date": "2026-11-14T02:00:00Z", "priority": "urgent"}, // 23:00 in São Paulo
		{"title": "Week", "due_date": "2026-11-19", "label_ids": []string{vip}},
		{"title": "Later", "due_date": "2026-11-20", "priority": "low"},
		{"title": "Overdue", "due_date": "2026-11-12", "contact_id": contact, "description": "Wants a DISCOUNT"},
		{"title": "Won", "due_date": "2026-11-12", "stage_id": won},
	} {
		ids[card["title"].(string)] = d.newCard(card).want(201).text("id")
	}
	sales := "board_id=" + board + "&"
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"newest first", "", []string{"Won", "Overdue", "Later", "Week", "Tonight", "Today", "None", "Attendance"}},
		{"board_id", sales, []string{"Won", "Overdue", "Later", "Week", "Tonight", "Today", "None"}},
		{"q in the title", "q=tonight", []string{"Tonight"}},
		{"q in the description", "q=discount", []string{"Overdue"}},
		{"q is the contact's phone", sales + "q=%2B5511988887777", []string{"Overdue"}},
		{"priority", "priority=high", []string{"Today"}},
		{"label", "label=" + vip, []string{"Week"}},
		{"due any", sales + "due=any", []string{"Won", "Overdue", "Later", "Week", "Tonight", "Today", "None"}},
		{"due none", sales + "due=none", []string{"None"}},
		{"due today", "due=today", []string{"Tonight", "Today"}},
		{"due today in another zone", "due=today&tz=UTC", []string{"Today"}},
		{"due today where it is tomorrow", "due=today&tz=Asia/Tokyo", []string{"Tonight"}},
		{"due week", "due=week", []string{"Week", "Tonight", "Today"}},
		{"due overdue", "due=overdue", []string{"Overdue"}},
		{"status all", sales + "status=all", []string{"Won", "Overdue", "Later", "Week", "Tonight", "Today", "None"}},
		{"status open", sales + "status=open", []string{"Overdue", "Later", "Week", "Tonight", "Today", "None"}},
		{"status completed", "status=completed", []string{"Won"}},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			want := []string{}
			for _, name := range tt.want {
				want = append(want, ids[name])
			}
			if diff := cmp.Diff(want, d.api("GET /kanban/cards?"+tt.query, nil).want(200).ids()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	d.run(t, "refuses", func(t *testing.T) {
		for _, query := range []string{"board_id=Sales", "priority=top", "label=vip", "due=tomorrow", "tz=Mars", "status=won", "cursor=x"} {
			d.api("GET /kanban/cards?"+query, nil).code(400, "invalid_request")
		}
	})
	d.run(t, "limit 1 to 100", func(t *testing.T) {
		for limit, status := range map[string]int{"0": 400, "1": 200, "100": 200, "101": 400} {
			d.api("GET /kanban/cards?limit="+limit, nil).want(status)
		}
	})
	d.run(t, "q has at most 100 characters", func(t *testing.T) {
		d.api("GET /kanban/cards?q="+strings.Repeat("%C3%A3", 100), nil).want(200)
		d.api("GET /kanban/cards?q="+strings.Repeat("a", 101), nil).code(400, "invalid_request")
	})
	d.run(t, "pages of 30 by cursor", func(t *testing.T) {
		for i := range 60 {
			d.newCard(m{"title": fmt.Sprintf("Card %d", i)}).want(201)
		}
		seen := map[string]bool{}
		cursor, sizes := "", []int{}
		for len(sizes) < 5 {
			r := d.api("GET /kanban/cards?cursor="+cursor, nil).want(200)
			for _, id := range r.ids() {
				seen[id] = true
			}
			sizes = append(sizes, len(r.ids()))
			if cursor = r.text("next_cursor"); cursor == "" {
				break
			}
		}
		if diff := cmp.Diff([]int{30, 30, 8}, sizes); diff != "" || len(seen) != 68 {
			t.Errorf("%d cards (-want +got):\n%s", len(seen), diff)
		}
	})
}

func TestPrivateCards(t *testing.T) {
	d := open(t, func(o *sandbox.Options) { o.KanbanEvents = true })
	if err := d.AddState([]byte(`{"channels":[{"name":"Boss","private":true}]}`)); err != nil {
		t.Fatal(err)
	}
	hook := d.receive(200)
	d.subscribe(hook, "kanban.card.created", "kanban.card.moved", "kanban.card.completed", "message.received", "message.sent",
		"attendance.opened", "attendance.closed", "conversation.updated")
	w, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Text: "psst", Channel: "Boss"})
	if err != nil {
		t.Fatal(err)
	}
	private, err := d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Secret", Private: true})
	if err != nil {
		t.Fatal(err)
	}
	d.run(t, "are not listed, nor those of private channels", func(t *testing.T) {
		if got := d.api("GET /kanban/cards", nil).want(200).ids(); len(got) != 0 {
			t.Errorf("cards %v", got)
		}
	})
	d.run(t, "cannot be read or changed", func(t *testing.T) {
		d.api("GET /kanban/cards/"+private.ID.String(), nil).code(404, "not_found")
		d.api("PATCH /kanban/cards/"+private.ID.String(), m{"version": 1, "title": "x"}).code(404, "not_found")
	})
	d.run(t, "raise no events, nor do private numbers", func(t *testing.T) {
		if _, err := d.MoveCard(sandbox.MoveCard{Card: "Secret", Stage: "Won", Person: "Ana"}); err != nil {
			t.Fatal(err)
		}
		d.api("POST /conversations/"+w.Conversation.String()+"/messages", m{"client_id": uuid(1), "text": "psst"}).want(201)
		d.api("PATCH /conversations/"+w.Conversation.String(), m{"pinned": true}).want(200)
		d.api("POST /conversations/"+w.Conversation.String()+"/attendance/close", nil).want(200)
		d.settle()
		if got := hook.types(); len(got) != 0 {
			t.Errorf("events %v", got)
		}
	})
}
