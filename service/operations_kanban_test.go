package service

import (
	"context"
	"time"
)

var webhookCalls = []operation{
	{
		name: "GET /integrations/webhooks", status: 200, answer: listOf(jsonHook), want: []Webhook{wantHook},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListWebhooks(ctx) },
	},
	{
		name: "POST /integrations/webhooks", status: 201, answer: jsonHookSecret, want: wantHookSecret,
		body: `{"name":"quando","url":"https://hooks.example.com/webhook","events":["message.received"]}`,
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.RegisterWebhook(ctx, NewWebhook{Name: "quando", URL: "https://hooks.example.com/webhook", Events: []string{"message.received"}})
		},
	},
	{
		name: "GET /integrations/webhooks/events", status: 200, answer: `{"data":["message.received","message.sent"]}`, want: []string{"message.received", "message.sent"},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListEvents(ctx) },
	},
	{
		name: "PATCH /integrations/webhooks/{id}", id: idHook, status: 200, answer: jsonHook, want: wantHook, body: `{"active":true}`,
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.UpdateWebhook(ctx, idHook, WebhookPatch{Active: Set(true)})
		},
	},
	{
		name: "DELETE /integrations/webhooks/{id}", id: idHook, status: 204,
		call: func(ctx context.Context, c *Client) (any, error) { return none(c.DeleteWebhook(ctx, idHook)) },
	},
	{
		name: "POST /integrations/webhooks/{id}/rotate-secret", id: idHook, status: 200, answer: jsonHookSecret, want: wantHookSecret,
		call: func(ctx context.Context, c *Client) (any, error) { return c.RotateSecret(ctx, idHook) },
	},
	{
		name: "POST /integrations/webhooks/{id}/test", id: idHook, status: 200, answer: `{}`,
		call: func(ctx context.Context, c *Client) (any, error) { return none(c.TestWebhook(ctx, idHook)) },
	},
	{
		name: "GET /integrations/webhooks/{id}/deliveries", id: idHook, status: 200, answer: listOf(jsonDelivery), want: []Delivery{wantDelivery},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListDeliveries(ctx, idHook) },
	},
}

const testCardKey = "0123456789abcdef"

var kanbanCalls = []operation{
	{
		name: "GET /kanban/boards", status: 200, query: "archived=1", answer: "[" + jsonBoard + "]", want: []Board{wantBoard},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListBoards(ctx, true) },
	},
	{
		name: "GET /kanban/boards/{id}", id: idBoard, status: 200, answer: jsonBoard, want: wantBoard,
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetBoard(ctx, idBoard) },
	},
	{
		name: "GET /kanban/cards", status: 200, answer: listOf(jsonCard), want: page(wantCard),
		query: fill("board_id=$board&limit=30&cursor=n1&q=prop&priority=high&label=$label&due=week&tz=America/Sao_Paulo&status=all"),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.ListCards(ctx, CardQuery{Board: idBoard, Limit: 30, Cursor: "n1", Q: "prop", Priority: "high", Label: idLabel, Due: "week", TZ: "America/Sao_Paulo", Status: "all"})
		},
	},
	{
		name: "POST /kanban/cards", status: 201, answer: jsonCard, answers: map[string]string{"ETag": `"8"`}, want: CardResult{Card: versioned("8")}, header: map[string]string{"Idempotency-Key": testCardKey},
		body: fill(`{"board_id":"$board","stage_id":"$stage","title":"Proposal","priority":"high","label_ids":["$label"],"due_date":"2026-11-20T00:00:00Z","contact_id":"$contact","conversation_id":"$conv"}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.CreateCard(ctx, testCardKey, NewCard{BoardID: idBoard, StageID: idStage, Title: "Proposal", Priority: "high", LabelIDs: []string{idLabel},
				DueDate: &dueDay, ContactID: idContact, ConversationID: idConv, AttendanceID: idAtt})
		},
	},
	{
		name: "GET /kanban/cards/{id}", id: idCard, status: 200, answer: jsonCard, answers: map[string]string{"ETag": `W/"9"`}, want: versioned("9"),
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetCard(ctx, idCard) },
	},
	{
		name: "PATCH /kanban/cards/{id}", id: idCard, status: 200, answer: jsonCard, answers: map[string]string{"ETag": `"8"`}, want: CardResult{Card: versioned("8")},
		body: `{"title":"Offer","description":null,"due_date":null,"version":7}`,
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.UpdateCard(ctx, idCard, "7", CardPatch{Title: Set("Offer"), Description: Null[string](), DueDate: Null[time.Time]()})
		},
	},
	{
		name: "POST /kanban/cards/{id}/move", id: idCard, status: 200, answer: jsonCard, answers: map[string]string{"Idempotency-Replayed": "true"}, want: CardResult{Card: wantCard, Replayed: true},
		header: map[string]string{"Idempotency-Key": testCardKey}, body: fill(`{"stage_id":"$stage2","version":7}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.MoveCard(ctx, testCardKey, idCard, "7", idStage2)
		},
	},
}

func versioned(v string) Card {
	c := wantCard
	c.Version = v
	return c
}
