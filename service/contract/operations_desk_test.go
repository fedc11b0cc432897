package contract_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// later moves the sandbox's clock.
func (w *world) later(d time.Duration) {
	w.t.Helper()
	must(w.Advance(w.ctx, d))(w.t)
}

// after is a time so long after the beginning of the sandbox's clock.
func after(d time.Duration) *time.Time {
	t := friday.UTC().Add(d)
	return &t
}

var attendanceProofs = []proof{
	{"GET /attendances", func(t *testing.T, w *world) {
		first := must(w.GetAttendance(w.ctx, w.attendance))(t)
		must(w.CloseAttendance(w.ctx, w.conversation, ""))(t)
		w.later(time.Hour)
		must(w.TransferConversation(w.ctx, w.conversation, service.Transfer{UserID: w.person, SectorID: w.sector}))(t)
		second := must(w.CustomerMessage(sandbox.CustomerMessage{Phone: mariaPhone, Text: "again"}))(t).Attendance.String()
		for name, tt := range map[string]struct {
			q     service.AttendanceQuery
			found []string
		}{
			"all, newest first":     {service.AttendanceQuery{}, []string{second, w.attendance}},
			"open":                  {service.AttendanceQuery{Status: service.StatusOpen}, []string{second}},
			"closed":                {service.AttendanceQuery{Status: service.StatusClosed}, []string{w.attendance}},
			"of the conversation":   {service.AttendanceQuery{Conversation: w.conversation}, []string{second, w.attendance}},
			"the protocol":          {service.AttendanceQuery{Protocol: first.Protocol}, []string{w.attendance}},
			"the protocol's number": {service.AttendanceQuery{Protocol: first.Protocol[len("ATD-"):]}, []string{w.attendance}},
			"from":                  {service.AttendanceQuery{From: friday.Add(time.Minute)}, []string{second}},
			"to":                    {service.AttendanceQuery{To: friday.Add(time.Minute)}, []string{w.attendance}},
			"Ana's":                 {service.AttendanceQuery{Assignee: w.person, Status: service.StatusOpen}, []string{second}},
			"Bruno's":               {service.AttendanceQuery{Assignee: w.other}, []string{}},
			"of the sector":         {service.AttendanceQuery{Sector: w.sector, Status: service.StatusOpen}, []string{second}},
		} {
			same(t, name, ids(must(w.ListAttendances(w.ctx, tt.q))(t).Items, attendanceID), tt.found)
		}
		page := must(w.ListAttendances(w.ctx, service.AttendanceQuery{Limit: 1}))(t)
		next := must(w.ListAttendances(w.ctx, service.AttendanceQuery{Limit: 1, Cursor: page.NextCursor}))(t)
		same(t, "the next page", ids(next.Items, attendanceID), []string{w.attendance})
		want(t, "the cursor of the last page", next.NextCursor, "")
	}},
	{"GET /attendances/{id}", func(t *testing.T, w *world) {
		w.later(5 * time.Minute)
		must(w.TeamMessage(sandbox.TeamMessage{Conversation: mariaPhone, Person: "Ana", Text: "hello"}))(t)
		a := must(w.GetAttendance(w.ctx, w.attendance))(t)
		contact := must(w.GetContact(w.ctx, w.contact))(t)
		same(t, "the attendance", a, service.Attendance{ID: w.attendance, Protocol: "ATD-000001", Status: service.StatusOpen, ConversationID: w.conversation, ContactID: w.contact,
			AssigneeID: w.person, OpenedAt: friday.UTC(), FirstResponseAt: after(5 * time.Minute), Contact: &contact, Assignee: a.Assignee})
		if a.Assignee == nil || a.Assignee.Name != "Ana" || a.Assignee.Role != "agent" || !slices.Contains(a.Assignee.SectorIDs, w.sector) {
			t.Errorf("the responsible person: %+v", a.Assignee)
		}
	}},
	{"GET /conversations/{id}/attendance", func(t *testing.T, w *world) {
		a := must(w.CurrentAttendance(w.ctx, w.conversation))(t)
		if a == nil || a.ID != w.attendance || a.Status != service.StatusOpen {
			t.Errorf("while it is open: %+v", a)
		}
		must(w.CloseAttendance(w.ctx, w.conversation, ""))(t)
		if a = must(w.CurrentAttendance(w.ctx, w.conversation))(t); a != nil {
			t.Errorf("when it is closed: %+v", a)
		}
	}},
	{"GET /conversations/{id}/assignments", func(t *testing.T, w *world) {
		must(w.TeamMessage(sandbox.TeamMessage{Conversation: mariaPhone, Person: "Ana", Text: "mine"}))(t)
		w.later(time.Minute)
		must(w.TransferConversation(w.ctx, w.conversation, service.Transfer{UserID: w.other, SectorID: w.sector, Reason: "lunch"}))(t)
		must(w.TeamTransfer(sandbox.TeamTransfer{Conversation: mariaPhone, Person: "Bruno"}))(t)
		history := must(w.ListAssignments(w.ctx, w.conversation))(t)
		same(t, "what happened, the latest first", ids(history, func(a service.Assignment) string { return a.Action }), []string{"handed_back", "received", "taken"})
		got := history[1]
		same(t, "the transfer", got, service.Assignment{ID: got.ID, ConversationID: w.conversation, Action: "received", UserID: w.other, SectorID: w.sector, FromUserID: w.person,
			By: got.By, Reason: "lunch", At: *after(time.Minute)})
		want(t, "who transferred", got.By.Kind, "api")
		want(t, "who handed back", history[0].By, service.Actor{Kind: "team", ID: w.other, Name: "Bruno"})
	}},
	{"POST /conversations/{id}/attendance/close", func(t *testing.T, w *world) {
		w.later(time.Hour)
		a := must(w.CloseAttendance(w.ctx, w.conversation, "solved"))(t)
		want(t, "id", a.ID, w.attendance)
		want(t, "status", a.Status, service.StatusClosed)
		want(t, "reason", a.CloseReason, "solved")
		same(t, "closing time", a.ClosedAt, after(time.Hour))
		dir := service.NewDirectory(w.Client)
		board := must(dir.ID(w.ctx, service.KindBoard, "attendances"))(t)
		cards := must(w.ListCards(w.ctx, service.CardQuery{Board: board}))(t).Items
		if len(cards) != 1 || cards[0].AttendanceID != w.attendance || must(dir.StageName(w.ctx, board, cards[0].StageID))(t) != "Done" {
			t.Errorf("the attendance's card: %+v", cards)
		}
	}},
}

var teamProofs = []proof{
	{"GET /team", func(t *testing.T, w *world) {
		team := must(w.ListTeam(w.ctx))(t)
		same(t, "names", ids(team, func(p service.Person) string { return p.Name }), []string{"Ana", "Bruno", "Carla"})
		ana := team[0]
		if ana.ID != w.person || ana.Role != "agent" || ana.AccessProfile == "" || ana.Presence == "" || !slices.Equal(ana.SectorIDs, []string{w.sector}) {
			t.Errorf("Ana: %+v", ana)
		}
		want(t, "Carla's role", team[2].Role, "supervisor")
	}},
	{"GET /sectors", func(t *testing.T, w *world) {
		must(w.SetSector(w.ctx, w.conversation, service.SectorChange{SectorID: service.Set(w.sector)}))(t)
		sectors := must(w.ListSectors(w.ctx))(t)
		same(t, "names", ids(sectors, func(s service.Sector) string { return s.Name }), []string{"Support", "Sales", "Supervisors"})
		same(t, "members", sectors[0].MemberIDs, []string{w.person, w.other})
		waiting := 0
		for _, q := range sectors[0].Queues {
			waiting += q.Waiting
		}
		want(t, "waiting conversations", waiting, 1)
	}},
	{"GET /company/attendance", func(t *testing.T, w *world) {
		same(t, "the small company's rules", must(w.GetCompanyRules(w.ctx))(t), service.CompanyRules{Enabled: true, FirstResponderOwns: true, Mode: "liberal"})
		noError(t, w.AddState([]byte(`{"attendance_rules":{"enabled":true,"first_responder_owns":false,"mode":"restricted","auto_close_after_minutes":90}}`)))
		same(t, "other rules", must(w.GetCompanyRules(w.ctx))(t), service.CompanyRules{Enabled: true, Mode: "restricted", AutoClose: true, AutoCloseAfter: 90 * time.Minute})
	}},
	{"GET /reports/attendance", func(t *testing.T, w *world) {
		w.later(10 * time.Minute)
		must(w.TeamMessage(sandbox.TeamMessage{Conversation: mariaPhone, Person: "Ana", Text: "hello"}))(t)
		must(w.SetSector(w.ctx, w.conversation, service.SectorChange{SectorID: service.Set(w.sector)}))(t)
		w.later(50 * time.Minute)
		must(w.CloseAttendance(w.ctx, w.conversation, ""))(t)
		response, resolution := 10*time.Minute, time.Hour
		all := service.Totals{Opened: 1, Closed: 1, FirstResponse: &response, Resolution: &resolution}
		same(t, "the day", must(w.AttendanceReport(w.ctx, service.ReportQuery{From: friday, To: friday, Sector: w.sector, User: w.person}))(t), service.Report{
			From: "2026-11-13", To: "2026-11-13", Totals: all,
			ByPerson: []service.ReportRow{{ID: w.person, Name: "Ana", Totals: all}},
			BySector: []service.ReportRow{{ID: w.sector, Name: "Support", Totals: all}},
			ByDay:    []service.ReportRow{{Day: "2026-11-13", Totals: all}},
		})
		bruno := must(w.AttendanceReport(w.ctx, service.ReportQuery{User: w.other}))(t)
		want(t, "Bruno's attendances", bruno.Opened, 0)
		want(t, "days without dates", len(bruno.ByDay), 30)
		if bruno.FirstResponse != nil {
			t.Errorf("the response time of nothing is %v", bruno.FirstResponse)
		}
	}},
}

var webhookProofs = []proof{
	{"GET /integrations/webhooks", func(t *testing.T, w *world) {
		same(t, "webhooks", must(w.ListWebhooks(w.ctx))(t), []service.Webhook{{ID: w.webhook, Name: "quando", URL: nowhere, Events: []string{"message.sent"}, Active: true,
			CreatedAt: friday.UTC(), UpdatedAt: friday.UTC()}})
	}},
	{"POST /integrations/webhooks", func(t *testing.T, w *world) {
		all := []string{"message.received", "message.sent", "conversation.updated", "attendance.opened", "attendance.closed"}
		hook := must(w.RegisterWebhook(w.ctx, service.NewWebhook{Name: "all", URL: nowhere, Events: all}))(t)
		same(t, "events", hook.Events, all)
		want(t, "active", hook.Active, true)
		if hook.Secret == "" {
			t.Error("there is no secret")
		}
		want(t, "webhooks", len(must(w.ListWebhooks(w.ctx))(t)), 2)
	}},
	{"GET /integrations/webhooks/events", func(t *testing.T, w *world) {
		same(t, "events", must(w.ListEvents(w.ctx))(t), []string{"message.received", "message.sent", "conversation.updated", "attendance.opened", "attendance.closed"})
	}},
	{"PATCH /integrations/webhooks/{id}", func(t *testing.T, w *world) {
		hook := must(w.UpdateWebhook(w.ctx, w.webhook, service.WebhookPatch{Name: service.Set("renamed"), URL: service.Set(nowhere + "/2"),
			Events: service.Set([]string{"attendance.closed"}), Active: service.Set(false)}))(t)
		want(t, "active", hook.Active, false)
		if hook.Name != "renamed" || hook.URL != nowhere+"/2" || !slices.Equal(hook.Events, []string{"attendance.closed"}) || hook.Secret != "" {
			t.Errorf("%+v", hook)
		}
		hook = must(w.UpdateWebhook(w.ctx, w.webhook, service.WebhookPatch{Active: service.Set(true)}))(t)
		want(t, "active again", hook.Active, true)
		want(t, "the name, left alone", hook.Name, "renamed")
	}},
	{"DELETE /integrations/webhooks/{id}", func(t *testing.T, w *world) {
		noError(t, w.DeleteWebhook(w.ctx, w.webhook))
		want(t, "webhooks", len(must(w.ListWebhooks(w.ctx))(t)), 0)
		if err := w.DeleteWebhook(w.ctx, w.webhook); !service.IsNotFound(err) {
			t.Errorf("deleted twice: %v", err)
		}
	}},
	{"POST /integrations/webhooks/{id}/rotate-secret", func(t *testing.T, w *world) {
		first, second := must(w.RotateSecret(w.ctx, w.webhook))(t), must(w.RotateSecret(w.ctx, w.webhook))(t)
		want(t, "the webhook", second.ID, w.webhook)
		if first.Secret == "" || first.Secret == second.Secret {
			t.Error("the secret was not replaced")
		}
	}},
	{"POST /integrations/webhooks/{id}/test", func(t *testing.T, w *world) {
		noError(t, w.TestWebhook(w.ctx, w.webhook))
		noError(t, w.Settle(w.ctx))
		sent := must(w.ListDeliveries(w.ctx, w.webhook))(t)
		if len(sent) != 1 || sent[0].EventType != "webhook.test" || sent[0].Status != "delivered" {
			t.Errorf("deliveries: %+v", sent)
		}
	}},
	{"GET /integrations/webhooks/{id}/deliveries", func(t *testing.T, w *world) {
		want(t, "deliveries before", len(must(w.ListDeliveries(w.ctx, w.webhook))(t)), 0)
		for range 2 {
			must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: "hi"}))(t)
			noError(t, w.Settle(w.ctx))
			w.later(time.Minute)
		}
		sent := must(w.ListDeliveries(w.ctx, w.webhook))(t)
		if len(sent) != 2 {
			t.Fatalf("deliveries: %+v", sent)
		}
		same(t, "the newest", sent[0], service.Delivery{ID: sent[0].ID, EventID: sent[0].EventID, EventType: "message.sent", Attempt: 1, Status: "delivered", ResponseStatus: 204, At: *after(time.Minute)})
	}},
}

var kanbanProofs = []proof{
	{"GET /kanban/boards", func(t *testing.T, w *world) {
		noError(t, w.AddState([]byte(`{"boards":[{"name":"Old","archived":true,"stages":[{"name":"One"}]}]}`)))
		name := func(b service.Board) string { return b.Name }
		same(t, "in use", ids(must(w.ListBoards(w.ctx, false))(t), name), []string{"Attendances", "Sales"})
		old := must(w.ListBoards(w.ctx, true))(t)
		same(t, "archived", ids(old, name), []string{"Old"})
		want(t, "marked as archived", old[0].Archived, true)
	}},
	{"GET /kanban/boards/{id}", func(t *testing.T, w *world) {
		b := must(w.GetBoard(w.ctx, w.board))(t)
		same(t, "the board", b, service.Board{ID: w.board, Name: "Sales", Stages: []service.Stage{
			{ID: w.lead, Name: "Lead", Position: 1}, {ID: b.Stages[1].ID, Name: "Proposal", Position: 2},
			{ID: b.Stages[2].ID, Name: "Follow-up", Position: 3}, {ID: w.won, Name: "Won", Position: 4, Winning: true},
		}})
	}},
	{"GET /kanban/cards", func(t *testing.T, w *world) {
		due := friday.AddDate(0, 0, 3)
		made := must(w.Client.CreateCard(w.ctx, uuid.NewString(), service.NewCard{BoardID: w.board, StageID: w.won, Title: "Urgent matter", Priority: "urgent",
			LabelIDs: []string{w.label}, DueDate: &due}))(t).ID
		for name, tt := range map[string]struct {
			q     service.CardQuery
			found []string
		}{
			"of the board, newest first": {service.CardQuery{Board: w.board}, []string{made, w.card}},
			"by title":                   {service.CardQuery{Q: "urgent"}, []string{made}},
			"by priority":                {service.CardQuery{Priority: "urgent"}, []string{made}},
			"by label":                   {service.CardQuery{Label: w.label}, []string{made}},
			"due this week":              {service.CardQuery{Due: "week", TZ: "America/Sao_Paulo"}, []string{made}},
			"due today":                  {service.CardQuery{Due: "today"}, []string{}},
			"never due":                  {service.CardQuery{Due: "none", Board: w.board}, []string{w.card}},
			"all":                        {service.CardQuery{Status: "all", Board: w.board}, []string{made, w.card}},
			"open":                       {service.CardQuery{Status: "open", Board: w.board}, []string{w.card}},
			"at most one":                {service.CardQuery{Limit: 1}, []string{made}},
		} {
			same(t, name, ids(must(w.ListCards(w.ctx, tt.q))(t).Items, cardID), tt.found)
		}
	}},
	{"GET /kanban/cards/{id}", func(t *testing.T, w *world) {
		same(t, "the card", must(w.GetCard(w.ctx, w.card))(t), service.Card{ID: w.card, BoardID: w.board, StageID: w.lead, Title: "Proposal", Priority: "medium", LabelIDs: []string{},
			Version: "1", Status: "open", CreatedAt: friday.UTC(), UpdatedAt: friday.UTC()})
	}},
	{"POST /kanban/cards", func(t *testing.T, w *world) {
		due := friday.UTC().AddDate(0, 0, 7)
		made := must(w.Client.CreateCard(w.ctx, uuid.NewString(), service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Offer", Description: "ten of them", Priority: "high",
			LabelIDs: []string{w.label}, DueDate: &due, ContactID: w.contact, ConversationID: w.conversation}))(t)
		same(t, "the card", made, service.CardResult{Card: service.Card{ID: made.ID, BoardID: w.board, StageID: w.lead, Title: "Offer", Description: "ten of them", Priority: "high",
			LabelIDs: []string{w.label}, DueDate: &due, Version: "1", ContactID: w.contact, ConversationID: w.conversation, Status: "open", CreatedAt: friday.UTC(), UpdatedAt: friday.UTC()}})
		same(t, "read again", must(w.GetCard(w.ctx, made.ID))(t), made.Card)
	}},
	{"PATCH /kanban/cards/{id}", func(t *testing.T, w *world) {
		due := friday.UTC().AddDate(0, 0, 7)
		card := must(w.UpdateCard(w.ctx, w.card, "1", service.CardPatch{Title: service.Set("Offer"), Description: service.Set("ten"), Priority: service.Set("low"),
			LabelIDs: service.Set([]string{w.label}), DueDate: service.Set(due), ContactID: service.Set(w.contact), ConversationID: service.Set(w.conversation)}))(t)
		want(t, "version", card.Version, "2")
		if card.Title != "Offer" || card.Description != "ten" || card.Priority != "low" || !slices.Equal(card.LabelIDs, []string{w.label}) || card.DueDate == nil || !card.DueDate.Equal(due) ||
			card.ContactID != w.contact || card.ConversationID != w.conversation {
			t.Errorf("everything set: %+v", card)
		}
		card = must(w.UpdateCard(w.ctx, w.card, card.Version, service.CardPatch{Description: service.Null[string](), DueDate: service.Null[time.Time](), LabelIDs: service.Set([]string{})}))(t)
		if card.Version != "3" || card.Title != "Offer" || card.Description != "" || card.DueDate != nil || len(card.LabelIDs) > 0 {
			t.Errorf("three taken back: %+v", card)
		}
		same(t, "read again", must(w.GetCard(w.ctx, w.card))(t), card.Card)
	}},
	{"POST /kanban/cards/{id}/move", func(t *testing.T, w *world) {
		card := must(w.Client.MoveCard(w.ctx, uuid.NewString(), w.card, "1", w.won))(t)
		want(t, "stage", card.StageID, w.won)
		want(t, "status", card.Status, "completed")
		want(t, "version", card.Version, "2")
		want(t, "replayed", card.Replayed, false)
		same(t, "read again", must(w.GetCard(w.ctx, w.card))(t), card.Card)
	}},
}
