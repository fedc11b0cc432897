package service

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// operation is one call: what it sends, what it is answered, what it makes of the answer.
type operation struct {
	name   string // method and path of the reference
	call   func(context.Context, *Client) (any, error)
	id     string // fills {id}
	query  string
	body   string // JSON; empty: none
	header map[string]string

	status  int
	answer  string
	answers map[string]string // headers
	want    any
}

func TestOperations(t *testing.T) {
	all := slices.Concat(conversationCalls, messageCalls, contactCalls, attendanceCalls, teamCalls, webhookCalls, kanbanCalls)
	profile := DefaultProfile()
	missing := map[string]bool{}
	for _, o := range profile.Operations() {
		missing[o.String()] = true
	}
	for _, o := range all {
		delete(missing, o.name)
		t.Run(o.name, func(t *testing.T) { testOperation(t, o) })
	}
	if len(missing) > 0 {
		t.Errorf("operations without a test: %v", slices.Sorted(maps.Keys(missing)))
	}
}

func testOperation(t *testing.T, o operation) {
	calls := 0
	c := setup(t, described(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		checkSent(t, o, r)
		for name, value := range o.answers {
			w.Header().Set(name, value)
		}
		if o.answer != "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(o.status)
		_, _ = io.WriteString(w, o.answer)
	}))
	got, err := o.call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if calls != 1 {
		t.Errorf("%d requests, want 1", calls)
	}
	noRaw := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Raw" }, cmp.Ignore())
	if diff := cmp.Diff(o.want, got, noRaw, cmpopts.IgnoreUnexported(Page[Conversation]{}, Page[Message]{}, Page[Contact]{}, Page[Attendance]{}, Page[Card]{}), cmpopts.IgnoreFields(Identity{}, "ServedAt")); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func checkSent(t *testing.T, o operation, r *http.Request) {
	t.Helper()
	method, path, _ := strings.Cut(o.name, " ")
	if path = strings.ReplaceAll(path, "{id}", o.id); r.Method != method || r.URL.Path != path {
		t.Errorf("sent %s %s, want %s %s", r.Method, r.URL.Path, method, path)
	}
	want, err := url.ParseQuery(o.query)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.URL.Query()); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	wantHeader := map[string]string{"Authorization": "Bearer " + testKey, "Accept": "application/json", "User-Agent": "quando", "Idempotency-Key": "", "If-Match": ""}
	maps.Copy(wantHeader, o.header)
	for name, value := range wantHeader {
		if got := r.Header.Get(name); got != value {
			t.Errorf("header %s is %q, want %q", name, got, value)
		}
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		f, h, err := r.FormFile("file")
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(f)
		if string(content) != o.body || h.Filename != "price.pdf" || h.Header.Get("Content-Type") != "application/pdf" {
			t.Errorf("uploaded %q as %v", content, h)
		}
		return
	}
	body, _ := io.ReadAll(r.Body)
	var got, wantBody any
	_ = json.Unmarshal(body, &got)
	if o.body != "" {
		if err := json.Unmarshal([]byte(o.body), &wantBody); err != nil {
			t.Fatal(err)
		}
	} else if len(body) > 0 {
		t.Errorf("sent a body: %s", body)
	}
	if diff := cmp.Diff(wantBody, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func page[T any](items ...T) Page[T] { return Page[T]{Items: items} }

// none is the result of calls that only succeed.
func none(err error) (any, error) { return nil, err }

var conversationCalls = []operation{
	{
		name: "GET /me", status: 200, answer: fill(`{"id":"$other","name":"Quando","tenant_id":"$tenant","tenant_name":"ACME","scopes":["messages:send"],"api_version":"1.1.0"}`),
		call: func(ctx context.Context, c *Client) (any, error) { return c.Me(ctx) },
		want: Identity{ID: idOther, Name: "Quando", TenantID: idTenant, TenantName: "ACME", Scopes: []string{"messages:send"}, APIVersion: "1.1.0"},
	},
	{
		name: "GET /channels", status: 200, answer: listOf(jsonChannel), want: []Channel{wantChannel},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListChannels(ctx) },
	},
	{
		name: "GET /conversations", status: 200, answer: listOf(jsonConversation), want: page(wantConversation),
		query: fill("q=maria&archived=false&unread=true&kind=direct&channel=$channel&assignee=none&sector=$sector&label=$label&limit=50&offset=100"),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.ListConversations(ctx, ConversationQuery{Q: "maria", Archived: ptr(false), Unread: true, Kind: "direct", Channel: idChannel,
				Assignee: "none", Sector: idSector, Label: idLabel, Limit: 50, Offset: 100})
		},
	},
	{
		name: "POST /conversations", status: 201, answer: jsonConversation, want: wantConversation, body: fill(`{"channel_id":"$channel","phone":"+5511987654321","name":"Maria"}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.CreateConversation(ctx, NewConversation{ChannelID: idChannel, Phone: "+5511987654321", Name: "Maria"})
		},
	},
	{
		name: "GET /conversations/{id}", id: idConv, status: 200, answer: jsonConversation, want: wantConversation,
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetConversation(ctx, idConv) },
	},
	{
		name: "PATCH /conversations/{id}", id: idConv, status: 200, answer: jsonConversation, want: wantConversation, body: `{"archived":false,"label_ids":[]}`,
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.UpdateConversation(ctx, idConv, ConversationPatch{Archived: Set(false), LabelIDs: Set[[]string](nil)})
		},
	},
	{
		name: "POST /conversations/{id}/read", id: idConv, status: 200, answer: jsonConversation,
		call: func(ctx context.Context, c *Client) (any, error) { return none(c.MarkRead(ctx, idConv)) },
	},
	{
		name: "POST /conversations/{id}/transfer", id: idConv, status: 200, answer: jsonConversation, want: wantConversation, body: fill(`{"user_id":"$person","reason":"lunch"}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.TransferConversation(ctx, idConv, Transfer{UserID: idPerson, Reason: "lunch"})
		},
	},
	{
		name: "PUT /conversations/{id}/sector", id: idConv, status: 200, answer: jsonConversation, want: wantConversation, body: `{"sector_id":null,"reason":"done"}`,
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SetSector(ctx, idConv, SectorChange{SectorID: Null[string](), Reason: "done"})
		},
	},
	{
		name: "PUT /conversations/{id}/sector", id: idConv, status: 200, answer: jsonConversation, want: wantConversation, body: `{"reason":"left alone"}`,
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SetSector(ctx, idConv, SectorChange{Reason: "left alone"})
		},
	},
}

var messageCalls = []operation{
	{
		name: "GET /conversations/{id}/messages", id: idConv, query: "limit=20&before=abc", status: 200, answer: `{"data":[` + jsonMessage + `],"next_cursor":"n1"}`,
		want: Page[Message]{Items: []Message{wantMessage}, NextCursor: "n1"},
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.ListMessages(ctx, idConv, MessageQuery{Limit: 20, Before: "abc"})
		},
	},
	{
		name: "POST /conversations/{id}/messages", id: idConv, status: 201, answer: jsonMessage, want: wantMessage,
		body: fill(`{"client_id":"$client","text":"a < b & c","media_id":"$media","reply_to_external_id":"wamid.0"}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SendMessage(ctx, idConv, NewMessage{ClientID: idClient, Text: "a < b & c", MediaID: idMedia, ReplyToExternalID: "wamid.0"})
		},
	},
	{
		name: "POST /conversations/{id}/messages", id: idConv, status: 201, answer: jsonMessage, want: wantMessage, body: fill(`{"client_id":"$client","media_id":"$media"}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SendMessage(ctx, idConv, NewMessage{ClientID: idClient, MediaID: idMedia})
		},
	},
	{
		name: "GET /messages/{id}", id: idMsg, status: 200, answer: jsonMessage, want: wantMessage,
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetMessage(ctx, idMsg) },
	},
	{
		name: "POST /media", status: 201, answer: jsonMedia, want: wantMedia, body: "hello world",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.UploadMedia(ctx, File{Name: "price.pdf", Size: 11, Content: strings.NewReader("hello world")})
		},
	},
	{
		name: "GET /media/{id}/url", id: idMedia, status: 200, answer: `{"url":"https://files.example.com/1","expires_at":"2026-11-13T20:50:00Z"}`,
		want: MediaLink{URL: "https://files.example.com/1", ExpiresAt: &at2050},
		call: func(ctx context.Context, c *Client) (any, error) { return c.MediaURL(ctx, idMedia) },
	},
}

var contactCalls = []operation{
	{
		name: "GET /contacts", status: 200, answer: listOf(jsonContact), want: page(wantContact), query: fill("q=maria&label=$label&channel=$channel&limit=10&offset=5"),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.ListContacts(ctx, ContactQuery{Q: "maria", Label: idLabel, Channel: idChannel, Limit: 10, Offset: 5})
		},
	},
	{
		name: "POST /contacts", status: 201, answer: jsonContact, want: wantContact, body: fill(`{"name":"Maria","phone":"+5511987654321","company":"ACME","city":"Recife","channel_id":"$channel"}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.CreateContact(ctx, NewContact{Name: "Maria", Phone: "+5511987654321", Company: "ACME", City: "Recife", ChannelID: idChannel})
		},
	},
	{
		name: "GET /contacts/{id}", id: idContact, status: 200, answer: jsonContact, want: wantContact,
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetContact(ctx, idContact) },
	},
	{
		name: "PATCH /contacts/{id}", id: idContact, status: 200, answer: jsonContact, want: wantContact, body: fill(`{"name":"Maria","city":"","label_ids":["$label"],"blocked":true}`),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.UpdateContact(ctx, idContact, ContactPatch{Name: Set("Maria"), City: Set(""), LabelIDs: Set([]string{idLabel}), Blocked: Set(true)})
		},
	},
	{
		name: "GET /labels", status: 200, answer: listOf(jsonLabel), want: []Label{wantLabel},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListLabels(ctx) },
	},
}

var attendanceCalls = []operation{
	{
		name: "GET /attendances", status: 200, answer: `{"data":[` + jsonAttendance + `],"next_cursor":"n2"}`, want: Page[Attendance]{Items: []Attendance{wantAtt}, NextCursor: "n2"},
		query: fill("status=open&assignee=none&sector=$sector&conversation=$conv&protocol=000001&from=2026-11-13T20:00:00Z&to=2026-11-13T20:50:00Z&limit=100&cursor=n1"),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.ListAttendances(ctx, AttendanceQuery{Status: StatusOpen, Assignee: "none", Sector: idSector, Conversation: idConv, Protocol: "000001",
				From: at2000, To: at2050.In(time.FixedZone("", -3*3600)), Limit: 100, Cursor: "n1"})
		},
	},
	{
		name: "GET /attendances/{id}", id: idAtt, status: 200, answer: strings.TrimSuffix(jsonAttendance, "}") + `,"contact":` + jsonContact + `,"assignee":` + jsonPerson + `}`,
		want: func() Attendance { a := wantAtt; a.Contact, a.Assignee = &wantContact, &wantPerson; return a }(),
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetAttendance(ctx, idAtt) },
	},
	{
		name: "GET /conversations/{id}/attendance", id: idConv, status: 200, answer: jsonAttendance, want: &wantAtt,
		call: func(ctx context.Context, c *Client) (any, error) { return c.CurrentAttendance(ctx, idConv) },
	},
	{
		name: "GET /conversations/{id}/attendance", id: idConv, status: 200, answer: "null", want: (*Attendance)(nil),
		call: func(ctx context.Context, c *Client) (any, error) { return c.CurrentAttendance(ctx, idConv) },
	},
	{
		name: "GET /conversations/{id}/assignments", id: idConv, status: 200, answer: listOf(jsonAssignment), want: []Assignment{wantAssign},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListAssignments(ctx, idConv) },
	},
	{
		name: "POST /conversations/{id}/attendance/close", id: idConv, status: 200, answer: jsonAttendance, want: wantAtt, body: `{"reason":"solved"}`,
		call: func(ctx context.Context, c *Client) (any, error) { return c.CloseAttendance(ctx, idConv, "solved") },
	},
}

var teamCalls = []operation{
	{
		name: "GET /team", status: 200, answer: listOf(jsonPerson), want: []Person{wantPerson},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListTeam(ctx) },
	},
	{
		name: "GET /sectors", status: 200, answer: listOf(jsonSector), want: []Sector{wantSector},
		call: func(ctx context.Context, c *Client) (any, error) { return c.ListSectors(ctx) },
	},
	{
		name: "GET /company/attendance", status: 200, answer: jsonRules, want: wantRules,
		call: func(ctx context.Context, c *Client) (any, error) { return c.GetCompanyRules(ctx) },
	},
	{
		name: "GET /reports/attendance", status: 200, answer: jsonReport, want: wantReport, query: fill("from=2026-11-13&to=2026-11-20&sector=$sector&user=$person"),
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.AttendanceReport(ctx, ReportQuery{From: at2000, To: dueDay, Sector: idSector, User: idPerson})
		},
	},
}
