package contract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
)

// absent is the id of nothing.
const absent = "e0000000-0000-4000-8000-00000000000e"

// calls makes every operation once with any client, each with whatever it needs from the world.
var calls = map[string]func(context.Context, *service.Client, *world) error{
	"GET /me": func(ctx context.Context, c *service.Client, _ *world) error { _, err := c.Me(ctx); return err },
	"GET /channels": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListChannels(ctx)
		return err
	},
	"GET /conversations": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListConversations(ctx, service.ConversationQuery{})
		return err
	},
	"POST /conversations": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.CreateConversation(ctx, service.NewConversation{ChannelID: w.channel, Phone: "+5511911112222"})
		return err
	},
	"GET /conversations/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.GetConversation(ctx, w.conversation)
		return err
	},
	"PATCH /conversations/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.UpdateConversation(ctx, w.conversation, service.ConversationPatch{Pinned: service.Set(true)})
		return err
	},
	"POST /conversations/{id}/read": func(ctx context.Context, c *service.Client, w *world) error { return c.MarkRead(ctx, w.conversation) },
	"POST /conversations/{id}/transfer": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.TransferConversation(ctx, w.conversation, service.Transfer{UserID: w.person})
		return err
	},
	"PUT /conversations/{id}/sector": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.SetSector(ctx, w.conversation, service.SectorChange{SectorID: service.Set(w.sector)})
		return err
	},
	"GET /conversations/{id}/messages": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.ListMessages(ctx, w.conversation, service.MessageQuery{})
		return err
	},
	"POST /conversations/{id}/messages": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.SendMessage(ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: "hello"})
		return err
	},
	"GET /messages/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.GetMessage(ctx, w.message)
		return err
	},
	"POST /media": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.UploadMedia(ctx, service.File{Name: "a.txt", Content: strings.NewReader("a")})
		return err
	},
	"GET /media/{id}/url": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.MediaURL(ctx, w.media)
		return err
	},
	"GET /contacts": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListContacts(ctx, service.ContactQuery{})
		return err
	},
	"POST /contacts": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.CreateContact(ctx, service.NewContact{Name: "João", Phone: "+5511922223333"})
		return err
	},
	"GET /contacts/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.GetContact(ctx, w.contact)
		return err
	},
	"PATCH /contacts/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.UpdateContact(ctx, w.contact, service.ContactPatch{City: service.Set("Recife")})
		return err
	},
	"GET /labels": func(ctx context.Context, c *service.Client, _ *world) error { _, err := c.ListLabels(ctx); return err },
	"GET /attendances": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListAttendances(ctx, service.AttendanceQuery{})
		return err
	},
	"GET /attendances/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.GetAttendance(ctx, w.attendance)
		return err
	},
	"GET /conversations/{id}/attendance": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.CurrentAttendance(ctx, w.conversation)
		return err
	},
	"GET /conversations/{id}/assignments": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.ListAssignments(ctx, w.conversation)
		return err
	},
	"POST /conversations/{id}/attendance/close": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.CloseAttendance(ctx, w.conversation, "solved")
		return err
	},
	"GET /team":    func(ctx context.Context, c *service.Client, _ *world) error { _, err := c.ListTeam(ctx); return err },
	"GET /sectors": func(ctx context.Context, c *service.Client, _ *world) error { _, err := c.ListSectors(ctx); return err },
	"GET /company/attendance": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.GetCompanyRules(ctx)
		return err
	},
	"GET /reports/attendance": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.AttendanceReport(ctx, service.ReportQuery{})
		return err
	},
	"GET /integrations/webhooks": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListWebhooks(ctx)
		return err
	},
	"POST /integrations/webhooks": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.RegisterWebhook(ctx, service.NewWebhook{Name: "other", URL: nowhere, Events: []string{"message.received"}})
		return err
	},
	"GET /integrations/webhooks/events": func(ctx context.Context, c *service.Client, _ *world) error { _, err := c.ListEvents(ctx); return err },
	"PATCH /integrations/webhooks/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.UpdateWebhook(ctx, w.webhook, service.WebhookPatch{Name: service.Set("renamed")})
		return err
	},
	"DELETE /integrations/webhooks/{id}": func(ctx context.Context, c *service.Client, w *world) error { return c.DeleteWebhook(ctx, w.webhook) },
	"POST /integrations/webhooks/{id}/rotate-secret": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.RotateSecret(ctx, w.webhook)
		return err
	},
	"POST /integrations/webhooks/{id}/test": func(ctx context.Context, c *service.Client, w *world) error { return c.TestWebhook(ctx, w.webhook) },
	"GET /integrations/webhooks/{id}/deliveries": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.ListDeliveries(ctx, w.webhook)
		return err
	},
	"GET /kanban/boards": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListBoards(ctx, false)
		return err
	},
	"GET /kanban/boards/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.GetBoard(ctx, w.board)
		return err
	},
	"GET /kanban/cards": func(ctx context.Context, c *service.Client, _ *world) error {
		_, err := c.ListCards(ctx, service.CardQuery{})
		return err
	},
	"GET /kanban/cards/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.GetCard(ctx, w.card)
		return err
	},
	"POST /kanban/cards": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.CreateCard(ctx, uuid.NewString(), service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Another"})
		return err
	},
	"PATCH /kanban/cards/{id}": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.UpdateCard(ctx, w.card, "1", service.CardPatch{Title: service.Set("Offer")})
		return err
	},
	"POST /kanban/cards/{id}/move": func(ctx context.Context, c *service.Client, w *world) error {
		_, err := c.MoveCard(ctx, uuid.NewString(), w.card, "1", w.won)
		return err
	},
}

// forEachOperation runs a subtest for every operation the client knows, each in a world of its own.
func forEachOperation(t *testing.T, f func(t *testing.T, w *world, o service.Operation, call func(*service.Client) error)) {
	profile := service.DefaultProfile()
	for _, o := range profile.Operations() {
		t.Run(o.String(), func(t *testing.T) {
			w := newWorld(t)
			call, ok := calls[o.String()]
			if !ok {
				t.Fatal("nobody calls it")
			}
			f(t, w, o, func(c *service.Client) error { return call(w.ctx, c, w) })
		})
	}
}
