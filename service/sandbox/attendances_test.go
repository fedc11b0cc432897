package sandbox_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestAttendance(t *testing.T) {
	d := open(t, func(o *sandbox.Options) { o.KanbanEvents = true })
	hook := d.receive(200)
	d.subscribe(hook, "attendance.opened", "attendance.closed", "message.received", "message.sent", "conversation.updated",
		"kanban.card.created", "kanban.card.moved")
	conversation := d.ana()
	events := func(t *testing.T, want ...string) {
		t.Helper()
		d.settle()
		if diff := cmp.Diff(want, hook.types()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		hook.mu.Lock()
		hook.got = nil
		hook.mu.Unlock()
	}
	current := func() reply { return d.api("GET /conversations/"+conversation+"/attendance", nil).want(200) }

	d.run(t, "is opened when the customer writes", func(t *testing.T) {
		r := current()
		for field, want := range map[string]any{"status": "open", "protocol": "ATD-000001", "conversation_id": conversation,
			"assignee_id": nil, "sector_id": nil, "first_response_at": nil, "closed_at": nil, "opened_at": "2026-11-13T20:50:00Z"} {
			if got := r.get(field); got != want {
				t.Errorf("%s is %v, want %v", field, got, want)
			}
		}
		events(t, "attendance.opened", "kanban.card.created", "message.received", "conversation.updated")
	})
	d.run(t, "has a card on the board Attendances", func(t *testing.T) {
		board, stage := d.stage("Attendances", "Open")
		r := d.api("GET /kanban/cards?board_id="+board, nil).want(200)
		if len(r.ids()) != 1 || r.text("data.0.stage_id") != stage || r.text("data.0.attendance_id") != current().text("id") {
			t.Errorf("cards %s", r.body)
		}
	})
	d.run(t, "goes on with the customer's next message", func(t *testing.T) {
		d.ana()
		events(t, "message.received", "conversation.updated")
	})
	d.run(t, "has no first response from the API", func(t *testing.T) {
		d.api("POST /conversations/"+conversation+"/messages", m{"client_id": uuid(1), "text": "automatic"}).want(201)
		if got := current().get("first_response_at"); got != nil {
			t.Errorf("first response %v", got)
		}
		events(t, "message.sent", "conversation.updated")
	})
	d.run(t, "first response and first responder", func(t *testing.T) {
		d.advance(5 * time.Minute)
		if _, err := d.TeamMessage(sandbox.TeamMessage{Conversation: conversation, Person: "Bruno", Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		d.advance(time.Minute)
		if _, err := d.TeamMessage(sandbox.TeamMessage{Conversation: conversation, Person: "Ana", Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		if r := current(); r.text("first_response_at") != "2026-11-13T20:55:00Z" || r.text("assignee_id") != d.person("Bruno") {
			t.Errorf("attendance %s", r.body)
		}
		history := d.api("GET /conversations/"+conversation+"/assignments", nil).want(200)
		if len(history.ids()) != 1 || history.text("data.0.action") != "taken" || history.text("data.0.by.name") != "Bruno" {
			t.Errorf("history %s", history.body)
		}
		events(t, "message.sent", "conversation.updated", "message.sent", "conversation.updated")
	})
	d.run(t, "carries contact and responsible person", func(t *testing.T) {
		r := d.api("GET /attendances/"+current().text("id"), nil).want(200)
		if r.text("contact.name") != "Ana Lima" || r.text("assignee.name") != "Bruno" {
			t.Errorf("attendance %s", r.body)
		}
	})
	d.run(t, "is closed with a reason, and its card moves to Done", func(t *testing.T) {
		r := d.api("POST /conversations/"+conversation+"/attendance/close", m{"reason": "solved"}).want(200)
		if r.text("status") != "closed" || r.text("close_reason") != "solved" || r.text("closed_at") != "2026-11-13T20:56:00Z" {
			t.Errorf("attendance %s", r.body)
		}
		board, done := d.stage("Attendances", "Done")
		card := d.api("GET /kanban/cards?board_id="+board, nil).want(200)
		if card.text("data.0.stage_id") != done || card.get("data.0.version") != 2.0 {
			t.Errorf("card %s", card.body)
		}
		events(t, "attendance.closed", "kanban.card.moved")
	})
	d.run(t, "is null when none is open", func(t *testing.T) {
		if got := current(); string(got.body) != "null" {
			t.Errorf("attendance %s", got.body)
		}
	})
	d.run(t, "closed twice is a conflict", func(t *testing.T) {
		d.api("POST /conversations/"+conversation+"/attendance/close", nil).code(409, "conflict")
	})
	d.run(t, "another is opened by the next message", func(t *testing.T) {
		d.ana()
		if got := current().text("protocol"); got != "ATD-000002" {
			t.Errorf("protocol %s", got)
		}
		d.api("POST /conversations/"+conversation+"/attendance/close", nil).want(200)
	})
	d.run(t, "another is opened when the team starts", func(t *testing.T) {
		if _, err := d.TeamMessage(sandbox.TeamMessage{Conversation: "+5511944443333", Person: "Ana", Text: "good news"}); err != nil {
			t.Fatal(err)
		}
		if got := d.api("GET /attendances?protocol=3", nil).want(200); len(got.ids()) != 1 {
			t.Errorf("attendances %s", got.body)
		}
	})
}

func TestAttendanceRules(t *testing.T) {
	rules := func(t *testing.T, rules string) *desk {
		d := open(t)
		if err := d.SetState([]byte(`{"attendance_rules":` + rules + `}`)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Run("as shown", func(t *testing.T) {
		r := open(t).api("GET /company/attendance", nil).want(200)
		want := m{"enabled": true, "first_responder_owns": true, "mode": "liberal", "auto_close_after_minutes": nil}
		if diff := cmp.Diff(want, r.get("")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("without attendances", func(t *testing.T) {
		d := rules(t, `{"enabled":false}`)
		conversation := d.ana()
		if got := d.api("GET /conversations/"+conversation+"/attendance", nil).want(200); string(got.body) != "null" {
			t.Errorf("attendance %s", got.body)
		}
	})
	t.Run("the first responder does not own", func(t *testing.T) {
		d := rules(t, `{"first_responder_owns":false}`)
		conversation := d.ana()
		if _, err := d.TeamMessage(sandbox.TeamMessage{Conversation: conversation, Person: "Bruno", Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		if got := d.api("GET /conversations/"+conversation, nil).get("assignee_id"); got != nil {
			t.Errorf("assignee %v", got)
		}
	})
	t.Run("automatic closing after silence", func(t *testing.T) {
		d := rules(t, `{"auto_close_after_minutes":30}`)
		conversation := d.ana()
		d.advance(20 * time.Minute)
		d.ana()
		d.advance(29 * time.Minute)
		if got := d.api("GET /conversations/"+conversation+"/attendance", nil).text("status"); got != "open" {
			t.Errorf("status %s after 29 minutes", got)
		}
		d.advance(time.Minute)
		if got := d.api("GET /attendances", nil).text("data.0.closed_at"); got != "2026-11-13T21:40:00Z" {
			t.Errorf("closed at %s", got)
		}
	})
}

func TestListAttendances(t *testing.T) {
	d := open(t)
	var ids []string // newest first
	var conversations []string
	for i, name := range []string{"Ana Lima", "Beto", "Caio", "Duda"} {
		conversation, _, id := d.writes("+551198888770"+string(rune('0'+i)), name, "hi")
		ids, conversations = append([]string{id}, ids...), append([]string{conversation}, conversations...)
		d.advance(6 * time.Hour) // 17:50, 23:50, 05:50 and 11:50 in São Paulo
	}
	d.api("POST /conversations/"+conversations[0]+"/attendance/close", nil).want(200)
	d.api("POST /conversations/"+conversations[1]+"/transfer", m{"user_id": d.person("Bruno"), "sector_id": d.sector("Sales")}).want(200)
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"newest first", "", ids},
		{"status open", "status=open", ids[1:]},
		{"status closed", "status=closed", ids[:1]},
		{"assignee", "assignee=" + d.person("Bruno"), ids[1:2]},
		{"assignee none", "assignee=none", []string{ids[0], ids[2], ids[3]}},
		{"sector", "sector=" + d.sector("Sales"), ids[1:2]},
		{"conversation", "conversation=" + conversations[2], ids[2:3]},
		{"protocol with the prefix", "protocol=ATD-000003", ids[1:2]},
		{"protocol without the prefix", "protocol=000003", ids[1:2]},
		{"protocol unknown", "protocol=99", []string{}},
		{"from a time", "from=" + url.QueryEscape("2026-11-13T23:50:00-03:00"), ids[:3]},
		{"from a date", "from=2026-11-14", ids[:2]},
		{"to is before", "to=" + url.QueryEscape("2026-11-13T23:50:00-03:00"), ids[3:]},
		{"to a date", "to=2026-11-14", ids[2:]},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, d.api("GET /attendances?"+tt.query, nil).want(200).ids()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	d.run(t, "pages by next_cursor", func(t *testing.T) {
		var got []string
		cursor := ""
		for range ids {
			r := d.api("GET /attendances?limit=3&cursor="+cursor, nil).want(200)
			got = append(got, r.ids()...)
			d.writes("+5511977770000", "New", "an attendance opened meanwhile does not disturb")
			if cursor = r.text("next_cursor"); cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	d.run(t, "refuses", func(t *testing.T) {
		for _, query := range []string{"status=done", "assignee=me", "sector=x", "conversation=x", "protocol=ATD", "from=yesterday", "to=13/11/2026", "limit=0", "limit=101", "cursor=x"} {
			d.api("GET /attendances?"+query, nil).code(400, "invalid_request")
		}
	})
}

func TestTeam(t *testing.T) {
	d := open(t)
	r := d.api("GET /team", nil).want(200)
	if r.text("data.2.name") != "Carla" || r.text("data.2.role") != "supervisor" || r.text("data.2.access_profile") == "" ||
		r.text("data.2.presence") != "online" || r.text("data.2.sector_ids.0") != d.sector("Supervisors") {
		t.Errorf("team %s", r.body)
	}
}

func TestSectors(t *testing.T) {
	d := open(t)
	r := d.api("GET /sectors", nil).want(200)
	if r.text("data.2.name") != "Supervisors" || r.text("data.2.member_ids.0") != d.person("Carla") || r.text("data.2.queues.0.name") == "" {
		t.Errorf("sectors %s", r.body)
	}
}

func TestReport(t *testing.T) {
	d := open(t)
	conversation := d.ana()
	d.writes("+5511977776666", "Beto", "hi")
	d.advance(10 * time.Minute)
	if _, err := d.TeamMessage(sandbox.TeamMessage{Conversation: conversation, Person: "Bruno", Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.TeamTransfer(sandbox.TeamTransfer{Conversation: conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetClock(context.Background(), time.Date(2026, 11, 14, 9, 0, 0, 0, friday.Location())); err != nil {
		t.Fatal(err)
	}
	d.api("POST /conversations/"+conversation+"/attendance/close", nil).want(200)
	resolution := (15*time.Hour + 10*time.Minute).Seconds()

	d.run(t, "totals", func(t *testing.T) {
		r := d.api("GET /reports/attendance?from=2026-11-13&to=2026-11-14", nil).want(200)
		for path, want := range map[string]any{"opened": 2.0, "closed": 1.0, "first_response_seconds": 600.0, "resolution_seconds": resolution} {
			if got := r.get(path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
	})
	d.run(t, "per person, sector and day", func(t *testing.T) {
		r := d.api("GET /reports/attendance?from=2026-11-13&to=2026-11-14", nil).want(200)
		for path, want := range map[string]any{"by_person.1.name": "Bruno", "by_person.1.closed": 1.0, "by_sector.1.name": "Sales",
			"by_sector.1.opened": 1.0, "by_day.0.day": "2026-11-13", "by_day.0.opened": 2.0, "by_day.0.closed": 0.0, "by_day.1.closed": 1.0} {
			if got := r.get(path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
	})
	d.run(t, "of one day, the day included", func(t *testing.T) {
		r := d.api("GET /reports/attendance?from=2026-11-13&to=2026-11-13", nil).want(200)
		if r.get("opened") != 2.0 || r.get("closed") != 0.0 || r.get("resolution_seconds") != nil {
			t.Errorf("report %s", r.body)
		}
	})
	d.run(t, "sector and user", func(t *testing.T) {
		for _, filter := range []string{"sector=" + d.sector("Sales"), "user=" + d.person("Bruno")} {
			if r := d.api("GET /reports/attendance?"+filter, nil).want(200); r.get("opened") != 1.0 {
				t.Errorf("%s: %s", filter, r.body)
			}
		}
	})
	d.run(t, "refuses", func(t *testing.T) {
		for _, query := range []string{"from=2026-11-13T00:00:00Z", "to=x", "sector=x", "user=x", "from=2026-11-14&to=2026-11-13"} {
			d.api("GET /reports/attendance?"+query, nil).code(400, "invalid_request")
		}
	})
}
