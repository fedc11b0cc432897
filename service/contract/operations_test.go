package contract_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// proof does one operation for real and looks at what came of it.
type proof struct {
	name string // method and path of the reference
	do   func(*testing.T, *world)
}

func proofs() []proof {
	return slices.Concat(conversationProofs, messageProofs, contactProofs, attendanceProofs, teamProofs, webhookProofs, kanbanProofs)
}

func TestOperations(t *testing.T) {
	proven := map[string]bool{}
	for _, p := range proofs() {
		proven[p.name] = true
		t.Run(p.name, func(t *testing.T) {
			w := newWorld(t)
			begin := len(w.wire.exchanges())
			p.do(t, w)
			done := func(e exchange) bool { return e.op == p.name && e.status/100 == 2 }
			if !slices.ContainsFunc(w.wire.exchanges()[begin:], done) {
				t.Error("the operation was not done")
			}
		})
	}
	profile := service.DefaultProfile()
	for _, o := range profile.Operations() {
		if !proven[o.String()] {
			t.Errorf("%s, which the client has, is not proven", o)
		}
	}
	for _, o := range sandbox.Operations() {
		if !proven[o.Name] {
			t.Errorf("%s, which the sandbox has, is not proven", o.Name)
		}
	}
}

// same compares what the client made of answers, leaving the answers themselves aside.
func same[T any](t *testing.T, what string, got, expected T) {
	t.Helper()
	noRaw := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Raw" }, cmp.Ignore())
	if diff := cmp.Diff(expected, got, noRaw); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func ids[T any](items []T, id func(T) string) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, id(item))
	}
	return out
}

func conversationID(c service.Conversation) string { return c.ID }
func contactID(c service.Contact) string           { return c.ID }
func messageID(m service.Message) string           { return m.ID }
func attendanceID(a service.Attendance) string     { return a.ID }
func cardID(c service.Card) string                 { return c.ID }

var conversationProofs = []proof{
	{"GET /me", func(t *testing.T, w *world) {
		me := must(w.Me(w.ctx))(t)
		want(t, "name", me.Name, "Sandbox")
		want(t, "tenant", me.TenantName, "Sandbox Company")
		want(t, "version", me.APIVersion, sandbox.Version)
		same(t, "scopes", me.Scopes, sandbox.Scopes)
		if me.ID == "" || me.TenantID == "" || w.Now().Sub(me.ServedAt).Abs() > time.Minute {
			t.Errorf("identity %+v", me)
		}
	}},
	{"GET /channels", func(t *testing.T, w *world) {
		same(t, "channels", must(w.ListChannels(w.ctx))(t), []service.Channel{{ID: w.channel, Name: "Main", Phone: "+551130000001"}})
	}},
	{"GET /conversations", func(t *testing.T, w *world) {
		// Another conversation that differs from Maria's in everything that can be asked for.
		must(w.CustomerMessage(sandbox.CustomerMessage{Phone: "+5521900000000", Name: "Pedro", Text: "anybody there", Group: "Football"}))(t)
		noError(t, w.MarkRead(w.ctx, w.conversation))
		must(w.TransferConversation(w.ctx, w.conversation, service.Transfer{UserID: w.person, SectorID: w.sector}))(t)
		must(w.UpdateConversation(w.ctx, w.conversation, service.ConversationPatch{Archived: service.Set(true), LabelIDs: service.Set([]string{w.label})}))(t)
		yes, no := true, false
		for name, tt := range map[string]struct {
			q     service.ConversationQuery
			maria bool
			other bool
		}{
			"no filter":       {service.ConversationQuery{}, true, true},
			"by name":         {service.ConversationQuery{Q: "maria"}, true, false},
			"by phone":        {service.ConversationQuery{Q: "987654321"}, true, false},
			"by last message": {service.ConversationQuery{Q: "anybody"}, false, true},
			"archived":        {service.ConversationQuery{Archived: &yes}, true, false},
			"not archived":    {service.ConversationQuery{Archived: &no}, false, true},
			"unread":          {service.ConversationQuery{Unread: true}, false, true},
			"direct":          {service.ConversationQuery{Kind: "direct"}, true, false},
			"group":           {service.ConversationQuery{Kind: "group"}, false, true},
			"channel":         {service.ConversationQuery{Channel: w.channel}, true, true},
			"nobody's":        {service.ConversationQuery{Assignee: "none"}, false, true},
			"Ana's":           {service.ConversationQuery{Assignee: w.person}, true, false},
			"mine":            {service.ConversationQuery{Assignee: "me"}, false, false},
			"sector":          {service.ConversationQuery{Sector: w.sector}, true, false},
			"label":           {service.ConversationQuery{Label: w.label}, true, false},
			"the first":       {service.ConversationQuery{Limit: 1}, true, false},
			"the second":      {service.ConversationQuery{Limit: 1, Offset: 1}, false, true},
		} {
			page := must(w.ListConversations(w.ctx, tt.q))(t)
			found := ids(page.Items, conversationID)
			want(t, name+": Maria's is found", slices.Contains(found, w.conversation), tt.maria)
			want(t, name+": the other is found", slices.ContainsFunc(page.Items, func(c service.Conversation) bool { return c.Name == "Football" }), tt.other)
		}
	}},
	{"POST /conversations", func(t *testing.T, w *world) {
		c := must(w.CreateConversation(w.ctx, service.NewConversation{ChannelID: w.channel, Phone: "+5511955556666", Name: "Rita"}))(t)
		same(t, "the conversation", must(w.GetConversation(w.ctx, c.ID))(t), c)
		if c.Name != "Rita" || c.Phone != "+5511955556666" || c.ChannelID != w.channel || c.Kind != "direct" || c.ContactID == "" {
			t.Errorf("%+v", c)
		}
		found := must(w.FindConversation(w.ctx, "11 95555-6666", w.channel))(t)
		if found == nil || found.ID != c.ID {
			t.Errorf("found by phone: %+v", found)
		}
		again := must(w.CreateConversation(w.ctx, service.NewConversation{ChannelID: w.channel, ContactID: c.ContactID}))(t)
		want(t, "the conversation with the same contact", again.ID, c.ID)
	}},
	{"GET /conversations/{id}", func(t *testing.T, w *world) {
		c := must(w.GetConversation(w.ctx, w.conversation))(t)
		at := friday.UTC()
		same(t, "the conversation", c, service.Conversation{
			ID: w.conversation, Kind: "direct", Name: "Maria", LabelIDs: []string{}, ChannelID: w.channel, ContactID: w.contact, Phone: mariaPhone, Unread: true, UnreadCount: 1,
			LastMessage: &service.Message{ID: w.message, Text: "good evening", Direction: service.Inbound, CreatedAt: at, Cursor: w.message}, CreatedAt: at, UpdatedAt: at,
		})
	}},
	{"PATCH /conversations/{id}", func(t *testing.T, w *world) {
		c := must(w.UpdateConversation(w.ctx, w.conversation, service.ConversationPatch{
			Archived: service.Set(true), Pinned: service.Set(true), Muted: service.Set(true), Name: service.Set("Maria S."), LabelIDs: service.Set([]string{w.label}),
		}))(t)
		if !c.Archived || !c.Pinned || !c.Muted || c.Name != "Maria S." || !slices.Equal(c.LabelIDs, []string{w.label}) {
			t.Errorf("everything set: %+v", c)
		}
		c = must(w.UpdateConversation(w.ctx, w.conversation, service.ConversationPatch{Archived: service.Set(false), LabelIDs: service.Set[[]string](nil)}))(t)
		if c.Archived || !c.Pinned || !c.Muted || c.Name != "Maria S." || len(c.LabelIDs) > 0 {
			t.Errorf("two taken back: %+v", c)
		}
		same(t, "read again", must(w.GetConversation(w.ctx, w.conversation))(t), c)
	}},
	{"POST /conversations/{id}/read", func(t *testing.T, w *world) {
		noError(t, w.MarkRead(w.ctx, w.conversation))
		c := must(w.GetConversation(w.ctx, w.conversation))(t)
		want(t, "unread", c.Unread, false)
		want(t, "unread messages", c.UnreadCount, 0)
	}},
	{"POST /conversations/{id}/transfer", func(t *testing.T, w *world) {
		c := must(w.TransferConversation(w.ctx, w.conversation, service.Transfer{UserID: w.person, SectorID: w.sector, Reason: "knows her"}))(t)
		want(t, "assignee", c.AssigneeID, w.person)
		want(t, "sector", c.SectorID, w.sector)
		c = must(w.TransferConversation(w.ctx, w.conversation, service.Transfer{UserID: w.other}))(t)
		want(t, "the next assignee", c.AssigneeID, w.other)
		want(t, "the sector, left alone", c.SectorID, w.sector)
	}},
	{"PUT /conversations/{id}/sector", func(t *testing.T, w *world) {
		set := func(s service.SectorChange) string { return must(w.SetSector(w.ctx, w.conversation, s))(t).SectorID }
		want(t, "set", set(service.SectorChange{SectorID: service.Set(w.sector), Reason: "a complaint"}), w.sector)
		want(t, "left alone", set(service.SectorChange{Reason: "nothing"}), w.sector)
		want(t, "cleared", set(service.SectorChange{SectorID: service.Null[string]()}), "")
	}},
}

var messageProofs = []proof{
	{"GET /conversations/{id}/messages", func(t *testing.T, w *world) {
		second := must(w.TeamMessage(sandbox.TeamMessage{Conversation: mariaPhone, Person: "Ana", Text: "hello Maria"}))(t).String()
		third := must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: "more"}))(t).ID
		list := func(q service.MessageQuery) service.Page[service.Message] {
			return must(w.ListMessages(w.ctx, w.conversation, q))(t)
		}
		all := list(service.MessageQuery{})
		same(t, "newest first", ids(all.Items, messageID), []string{third, second, w.message})
		ana := all.Items[1]
		if ana.Text != "hello Maria" || ana.Direction != service.Outbound || ana.Sender != (service.Actor{Kind: "team", ID: w.person, Name: "Ana"}) {
			t.Errorf("Ana's message: %+v", ana)
		}
		want(t, "the customer's side", all.Items[2].Direction, service.Inbound)
		newest := list(service.MessageQuery{Limit: 1})
		same(t, "the newest", ids(newest.Items, messageID), []string{third})
		same(t, "before the newest", ids(list(service.MessageQuery{Before: newest.NextCursor}).Items, messageID), []string{second, w.message})
		same(t, "after the first", ids(list(service.MessageQuery{After: all.Items[2].Cursor}).Items, messageID), []string{third, second})
	}},
	{"POST /conversations/{id}/messages", func(t *testing.T, w *world) {
		first := must(w.GetMessage(w.ctx, w.message))(t)
		client := uuid.NewString()
		m := must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: client, Text: "a < b & c", MediaID: w.media, ReplyToExternalID: first.ExternalID}))(t)
		same(t, "the message", m, service.Message{
			ID: m.ID, ConversationID: w.conversation, ClientID: client, Text: "a < b & c", MediaID: w.media, ReplyToExternalID: first.ExternalID, ExternalID: m.ExternalID,
			Direction: service.Outbound, Sender: m.Sender, CreatedAt: friday.UTC(), Cursor: m.ID,
		})
		want(t, "the sender", m.Sender.Kind, "api")
		want(t, "the last message", must(w.GetConversation(w.ctx, w.conversation))(t).LastMessage.ID, m.ID)
		same(t, "effects", w.Effects()[len(w.Effects())-1].Key, sandbox.Optional(client))
		captionless := must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), MediaID: w.media}))(t)
		want(t, "text", captionless.Text, "")
	}},
	{"GET /messages/{id}", func(t *testing.T, w *world) {
		m := must(w.GetMessage(w.ctx, w.message))(t)
		same(t, "the message", m, service.Message{
			ID: w.message, ConversationID: w.conversation, Text: "good evening", ExternalID: m.ExternalID, Direction: service.Inbound,
			Sender: service.Actor{Kind: "customer", ID: w.contact, Name: "Maria"}, CreatedAt: friday.UTC(), Cursor: w.message,
		})
	}},
	{"POST /media", func(t *testing.T, w *world) {
		for name, size := range map[string]int64{"length known": 13, "length unknown": 0} {
			m := must(w.UploadMedia(w.ctx, service.File{Name: "tabela de preços.pdf", Size: size, Content: strings.NewReader("not a real pdf"[:13])}))(t)
			same(t, name, m, service.Media{ID: m.ID, Name: "tabela de preços.pdf", ContentType: "application/pdf", Size: 13, CreatedAt: friday.UTC()})
			sent := must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), MediaID: m.ID}))(t)
			want(t, "the media of the message", sent.MediaID, m.ID)
		}
	}},
	{"GET /media/{id}/url", func(t *testing.T, w *world) {
		link := must(w.MediaURL(w.ctx, w.media))(t)
		if link.ExpiresAt == nil || !link.ExpiresAt.After(friday) {
			t.Errorf("it expires at %v", link.ExpiresAt)
		}
		res := must(http.Get(link.URL))(t) // without the key
		defer res.Body.Close()
		want(t, "the file", string(must(io.ReadAll(res.Body))(t)), "ten reais")
	}},
}

var contactProofs = []proof{
	{"GET /contacts", func(t *testing.T, w *world) {
		rita := must(w.CreateContact(w.ctx, service.NewContact{Name: "Rita", Phone: "+5521911110000", ChannelID: w.channel}))(t).ID
		must(w.UpdateContact(w.ctx, w.contact, service.ContactPatch{LabelIDs: service.Set([]string{w.label})}))(t)
		for name, tt := range map[string]struct {
			q     service.ContactQuery
			found []string
		}{
			"all, newest first": {service.ContactQuery{}, []string{rita, w.contact}},
			"by name":           {service.ContactQuery{Q: "MARI"}, []string{w.contact}},
			"by phone":          {service.ContactQuery{Q: "21911110000"}, []string{rita}},
			"by label":          {service.ContactQuery{Label: w.label}, []string{w.contact}},
			"by channel":        {service.ContactQuery{Channel: w.channel}, []string{rita}},
			"the second":        {service.ContactQuery{Limit: 1, Offset: 1}, []string{w.contact}},
		} {
			same(t, name, ids(must(w.ListContacts(w.ctx, tt.q))(t).Items, contactID), tt.found)
		}
	}},
	{"POST /contacts", func(t *testing.T, w *world) {
		c := must(w.CreateContact(w.ctx, service.NewContact{Name: "João", Phone: "+5511922223333", Company: "ACME", City: "Recife", ChannelID: w.channel}))(t)
		same(t, "the contact", c, service.Contact{ID: c.ID, Name: "João", Phone: "+5511922223333", Company: "ACME", City: "Recife", ChannelID: w.channel,
			LabelIDs: []string{}, CreatedAt: friday.UTC(), UpdatedAt: friday.UTC()})
		same(t, "read again", must(w.GetContact(w.ctx, c.ID))(t), c)
	}},
	{"GET /contacts/{id}", func(t *testing.T, w *world) {
		same(t, "the contact", must(w.GetContact(w.ctx, w.contact))(t), service.Contact{ID: w.contact, Name: "Maria", Phone: mariaPhone,
			LabelIDs: []string{}, CreatedAt: friday.UTC(), UpdatedAt: friday.UTC()})
	}},
	{"PATCH /contacts/{id}", func(t *testing.T, w *world) {
		c := must(w.UpdateContact(w.ctx, w.contact, service.ContactPatch{Name: service.Set("Maria Silva"), Company: service.Set("ACME"), City: service.Set("Olinda"),
			LabelIDs: service.Set([]string{w.label}), Blocked: service.Set(true)}))(t)
		if c.Name != "Maria Silva" || c.Company != "ACME" || c.City != "Olinda" || !c.Blocked || !slices.Equal(c.LabelIDs, []string{w.label}) {
			t.Errorf("everything set: %+v", c)
		}
		c = must(w.UpdateContact(w.ctx, w.contact, service.ContactPatch{City: service.Set(""), Blocked: service.Set(false), LabelIDs: service.Set([]string{})}))(t)
		if c.Name != "Maria Silva" || c.Company != "ACME" || c.City != "" || c.Blocked || len(c.LabelIDs) > 0 {
			t.Errorf("three taken back: %+v", c)
		}
		same(t, "read again", must(w.GetContact(w.ctx, w.contact))(t), c)
	}},
	{"GET /labels", func(t *testing.T, w *world) {
		labels := must(w.ListLabels(w.ctx))(t)
		same(t, "names", ids(labels, func(l service.Label) string { return l.Name }), []string{"vip", "after-hours", "sla-breach", "proposal-sent"})
		want(t, "the first", labels[0].ID, w.label)
	}},
}
