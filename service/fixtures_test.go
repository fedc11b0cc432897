package service

import (
	"errors"
	"strings"
	"time"
)

var errNoKey = errors.New("the key is missing")

// fill puts the ids into a JSON text: $conv stands for idConv.
var fill = strings.NewReplacer(
	"$tenant", idTenant, "$channel", idChannel, "$conv", idConv, "$msg", idMsg, "$client", idClient, "$media", idMedia, "$contact", idContact, "$label", idLabel,
	"$att", idAtt, "$person2", idPerson2, "$person", idPerson, "$sector", idSector, "$hook", idHook, "$board", idBoard, "$stage2", idStage2, "$stage", idStage, "$card", idCard, "$other", idOther,
).Replace

// Answers in the default shape.
var (
	jsonChannel      = fill(`{"id":"$channel","name":"Main","phone":"+551140000000","private":false}`)
	jsonConversation = fill(`{"id":"$conv","kind":"direct","archived":false,"pinned":true,"muted":false,"name":"Maria","label_ids":["$label"],"channel_id":"$channel",
		"contact_id":"$contact","phone":"+5511987654321","assignee_id":"$person","sector_id":"$sector","unread":true,"unread_count":2,
		"last_message":{"id":"$msg","text":"oi","direction":"inbound","created_at":"2026-11-13T20:50:00Z"},"created_at":"2026-11-13T20:00:00Z","updated_at":"2026-11-13T20:50:00Z"}`)
	jsonMessage = fill(`{"id":"$msg","conversation_id":"$conv","client_id":"$client","text":"oi","media_id":null,"reply_to_external_id":null,"external_id":"wamid.1",
		"direction":"outbound","sender":{"kind":"api","id":null,"name":null},"created_at":"2026-11-13T20:50:00Z"}`)
	jsonMedia      = fill(`{"id":"$media","name":"price.pdf","content_type":"application/pdf","size":11,"created_at":"2026-11-13T20:50:00Z"}`)
	jsonContact    = fill(`{"id":"$contact","name":"Maria","phone":"+5511987654321","company":"ACME","city":null,"channel_id":"$channel","label_ids":["$label"],"blocked":false,"created_at":"2026-11-13T20:00:00Z","updated_at":"2026-11-13T20:50:00Z"}`)
	jsonLabel      = fill(`{"id":"$label","name":"vip","color":"#ff0000"}`)
	jsonAttendance = fill(`{"id":"$att","protocol":"ATD-000001","status":"open","conversation_id":"$conv","contact_id":"$contact","assignee_id":"$person","sector_id":null,
		"opened_at":"2026-11-13T20:00:00Z","first_response_at":"2026-11-13T20:05:00Z","closed_at":null,"close_reason":null}`)
	jsonPerson     = fill(`{"id":"$person","name":"Ana","role":"agent","access_profile":"standard","presence":"online","sector_ids":["$sector"]}`)
	jsonAssignment = fill(`{"id":"$other","conversation_id":"$conv","action":"received","user_id":"$person","sector_id":null,"from_user_id":"$person2","from_sector_id":null,"by":{"kind":"team","id":"$person2","name":"Bruno"},"reason":"lunch","at":"2026-11-13T20:50:00Z"}`)
	jsonSector     = fill(`{"id":"$sector","name":"Support","member_ids":["$person"],"queues":[{"id":"$other","name":"General","waiting":3}]}`)
	jsonRules      = `{"enabled":true,"first_responder_owns":true,"mode":"restricted","auto_close_after_minutes":90}`
	jsonReport     = fill(`{"from":"2026-11-01","to":"2026-11-30","opened":10,"closed":8,"first_response_seconds":90.5,"resolution_seconds":null,
		"by_person":[{"id":"$person","name":"Ana","opened":4,"closed":3,"first_response_seconds":60,"resolution_seconds":600}],
		"by_sector":[{"id":"$sector","name":"Support","opened":6,"closed":5,"first_response_seconds":null,"resolution_seconds":null}],
		"by_day":[{"day":"2026-11-13","opened":1,"closed":0,"first_response_seconds":null,"resolution_seconds":null}]}`)
	jsonHook       = fill(`{"id":"$hook","name":"quando","url":"https://hooks.example.com/webhook","events":["message.received"],"active":true,"created_at":"2026-11-13T20:00:00Z","updated_at":"2026-11-13T20:50:00Z"}`)
	jsonHookSecret = strings.Replace(jsonHook, `"active"`, `"secret":"whsec_1","active"`, 1)
	jsonDelivery   = fill(`{"id":"$other","event_id":"$msg","event_type":"message.received","attempt":2,"status":"retrying","response_status":500,"error":"500","at":"2026-11-13T20:50:00Z","next_attempt_at":"2026-11-13T20:52:00Z"}`)
	jsonBoard      = fill(`{"id":"$board","name":"Sales","archived":false,"stages":[{"id":"$stage","name":"Lead","position":0,"winning":false},{"id":"$stage2","name":"Won","position":1,"winning":true}]}`)
	jsonCard       = fill(`{"id":"$card","board_id":"$board","stage_id":"$stage","title":"Proposal","description":null,"priority":"high","label_ids":["$label"],"due_date":"2026-11-20T00:00:00Z","version":7,
		"contact_id":"$contact","conversation_id":"$conv","attendance_id":null,"status":"open","created_at":"2026-11-13T20:00:00Z","updated_at":"2026-11-13T20:50:00Z"}`)
)

func listOf(items ...string) string {
	return `{"data":[` + strings.Join(items, ",") + `],"next_cursor":null}`
}

// What the answers mean.
var (
	at2000 = time.Date(2026, 11, 13, 20, 0, 0, 0, time.UTC)
	at2005 = time.Date(2026, 11, 13, 20, 5, 0, 0, time.UTC)
	at2050 = time.Date(2026, 11, 13, 20, 50, 0, 0, time.UTC)
	at2052 = time.Date(2026, 11, 13, 20, 52, 0, 0, time.UTC)
	dueDay = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

	wantChannel      = Channel{ID: idChannel, Name: "Main", Phone: "+551140000000"}
	wantConversation = Conversation{ID: idConv, Kind: "direct", Pinned: true, Name: "Maria", LabelIDs: []string{idLabel}, ChannelID: idChannel, ContactID: idContact,
		Phone: "+5511987654321", AssigneeID: idPerson, SectorID: idSector, Unread: true, UnreadCount: 2,
		LastMessage: &Message{ID: idMsg, Text: "oi", Direction: Inbound, CreatedAt: at2050, Cursor: idMsg}, CreatedAt: at2000, UpdatedAt: at2050}
	wantMessage = Message{ID: idMsg, ConversationID: idConv, ClientID: idClient, Text: "oi", ExternalID: "wamid.1", Direction: Outbound,
		Sender: Actor{Kind: "api"}, CreatedAt: at2050, Cursor: idMsg}
	wantMedia   = Media{ID: idMedia, Name: "price.pdf", ContentType: "application/pdf", Size: 11, CreatedAt: at2050}
	wantContact = Contact{ID: idContact, Name: "Maria", Phone: "+5511987654321", Company: "ACME", ChannelID: idChannel, LabelIDs: []string{idLabel}, CreatedAt: at2000, UpdatedAt: at2050}
	wantLabel   = Label{ID: idLabel, Name: "vip", Color: "#ff0000"}
	wantAtt     = Attendance{ID: idAtt, Protocol: "ATD-000001", Status: "open", ConversationID: idConv, ContactID: idContact, AssigneeID: idPerson, OpenedAt: at2000, FirstResponseAt: &at2005}
	wantPerson  = Person{ID: idPerson, Name: "Ana", Role: "agent", AccessProfile: "standard", Presence: "online", SectorIDs: []string{idSector}}
	wantAssign  = Assignment{ID: idOther, ConversationID: idConv, Action: "received", UserID: idPerson, FromUserID: idPerson2, By: Actor{"team", idPerson2, "Bruno"}, Reason: "lunch", At: at2050}
	wantSector  = Sector{ID: idSector, Name: "Support", MemberIDs: []string{idPerson}, Queues: []Queue{{idOther, "General", 3}}}
	wantRules   = CompanyRules{Enabled: true, FirstResponderOwns: true, Mode: "restricted", AutoClose: true, AutoCloseAfter: 90 * time.Minute}
	wantReport  = Report{From: "2026-11-01", To: "2026-11-30", Totals: Totals{Opened: 10, Closed: 8, FirstResponse: dur(90500 * time.Millisecond)},
		ByPerson: []ReportRow{{ID: idPerson, Name: "Ana", Totals: Totals{4, 3, dur(time.Minute), dur(10 * time.Minute)}}},
		BySector: []ReportRow{{ID: idSector, Name: "Support", Totals: Totals{Opened: 6, Closed: 5}}},
		ByDay:    []ReportRow{{Day: "2026-11-13", Totals: Totals{Opened: 1}}}}
	wantHook       = Webhook{ID: idHook, Name: "quando", URL: "https://hooks.example.com/webhook", Events: []string{"message.received"}, Active: true, CreatedAt: at2000, UpdatedAt: at2050}
	wantHookSecret = func() Webhook { w := wantHook; w.Secret = "whsec_1"; return w }()
	wantDelivery   = Delivery{ID: idOther, EventID: idMsg, EventType: "message.received", Attempt: 2, Status: "retrying", ResponseStatus: 500, Error: "500", At: at2050, NextAttemptAt: &at2052}
	wantBoard      = Board{ID: idBoard, Name: "Sales", Stages: []Stage{{ID: idStage, Name: "Lead"}, {ID: idStage2, Name: "Won", Position: 1, Winning: true}}}
	wantCard       = Card{ID: idCard, BoardID: idBoard, StageID: idStage, Title: "Proposal", Priority: "high", LabelIDs: []string{idLabel}, DueDate: &dueDay, Version: "7",
		ContactID: idContact, ConversationID: idConv, Status: "open", CreatedAt: at2000, UpdatedAt: at2050}
)

func dur(d time.Duration) *time.Duration { return &d }

func ptr[T any](v T) *T { return &v }
