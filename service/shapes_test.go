package service

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The same object under other names, nested or flat, means the same.
func TestOtherShapes(t *testing.T) {
	p := DefaultProfile()
	for _, tc := range []struct {
		name, raw string
		decode    func(map[string]any) any
		want      any
	}{
		{"conversation, nested", `{"id":"$conv","type":"direct","is_archived":false,"is_pinned":1,"contact":{"id":"$contact","name":"Maria","phone":"+5511987654321"},"labels":[{"id":"$label","name":"vip"}],
			"channel":{"id":"$channel"},"assignee":{"id":"$person","name":"Ana"},"sector":{"id":"$sector"},"unread_count":2,
			"last_message":{"id":"$msg","body":"oi","from_me":false,"timestamp":1794603000},"created_at":1794600000000,"updated_at":"2026-11-13 20:50:00"}`,
			func(m map[string]any) any { return DecodeConversation(m, &p) }, wantConversation},
		{"conversation, ids as plain names", `{"id":"$conv","kind":"direct","pinned":true,"name":"Maria","label_ids":["$label"],"channel":"$channel","contact":"$contact","phone":"+5511987654321",
			"responsible":"$person","sector":"$sector","unread":2,"last_message":{"id":"$msg","text":"oi","sender":{"type":"customer"},"created_at":"2026-11-13T20:50:00Z"},"created_at":"2026-11-13T17:00:00-03:00","updated_at":"2026-11-13T20:50:00Z"}`,
			func(m map[string]any) any {
				c := DecodeConversation(m, &p)
				c.LastMessage.Sender = Actor{}
				return c
			}, wantConversation},
		{"message, nested", `{"id":"$msg","conversation":{"id":"$conv"},"client_id":"$client","content":"oi","external_id":"wamid.1","from_me":true,"sender":{"type":"api"},"sent_at":"2026-11-13T20:50:00Z"}`,
			func(m map[string]any) any { return DecodeMessage(m, &p) }, wantMessage},
		{"attendance, nested", `{"id":"$att","protocol_number":"ATD-000001","state":"open","conversation":{"id":"$conv"},"contact":"$contact","responsible":"$person","created_at":"2026-11-13T20:00:00Z","first_response":{"at":"2026-11-13T20:05:00Z","by":"$person"}}`,
			func(m map[string]any) any { return DecodeAttendance(m, &p) }, wantAtt},
		{"attendance, by user_id", `{"id":"$att","protocol":{"number":"ATD-000001"},"conversation_id":"$conv","contact_id":"$contact","user_id":"$person","opened_at":"2026-11-13T20:00:00.000Z","first_response":"2026-11-13T20:05:00Z","closed_at":null}`,
			func(m map[string]any) any { return DecodeAttendance(m, &p) }, wantAtt},
		{"identity", `{"integration":{"id":"$other","name":"Quando"},"company":{"id":"$tenant","name":"ACME"},"scope":"messages:send team:read","version":"1.1.0"}`,
			func(m map[string]any) any { return DecodeIdentity(m, &p) },
			Identity{ID: idOther, Name: "Quando", TenantID: idTenant, TenantName: "ACME", Scopes: []string{"messages:send", "team:read"}, APIVersion: "1.1.0"}},
		{"person", `{"id":"$person","name":"Ana","role":{"name":"agent"},"profile":{"name":"standard"},"presence":{"status":"online"},"sectors":[{"id":"$sector","name":"Support"}]}`,
			func(m map[string]any) any { return DecodePerson(m, &p) }, wantPerson},
		{"sector", `{"id":"$sector","name":"Support","members":[{"id":"$person"}],"queues":[{"id":"$other","name":"General","count":3}]}`,
			func(m map[string]any) any { return DecodeSector(m, &p) }, wantSector},
		{"rules", `{"attendance_enabled":true,"first_responder_takes_ownership":true,"restricted":true,"automatic_closing":{"enabled":true,"minutes":90}}`,
			func(m map[string]any) any { return DecodeCompanyRules(m, &p) }, wantRules},
		{"card", `{"id":"$card","board":{"id":"$board"},"stage":{"id":"$stage"},"name":"Proposal","priority":"high","label":"$label","due":"2026-11-20","version":"7","contact":{"id":"$contact"},"conversation":{"id":"$conv"},"status":"open","created_at":"2026-11-13T20:00:00Z","updated_at":"2026-11-13T20:50:00Z"}`,
			func(m map[string]any) any { return DecodeCard(m, &p) }, wantCard},
		{"board", `{"id":"$board","title":"Sales","columns":[{"id":"$stage","title":"Lead","order":0},{"id":"$stage2","title":"Won","order":1,"is_won":true}]}`,
			func(m map[string]any) any { return DecodeBoard(m, &p) }, wantBoard},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.decode(object(t, fill(tc.raw)))
			// Numbers for times are coarser; what matters here is that they are found.
			if c, ok := got.(Conversation); ok && strings.Contains(tc.raw, "1794603000") {
				if c.CreatedAt.Year() != 2026 || c.LastMessage.CreatedAt.Year() != 2026 {
					t.Errorf("times %v, %v", c.CreatedAt, c.LastMessage.CreatedAt)
				}
				c.CreatedAt, c.LastMessage.CreatedAt = at2000, at2050
				got = c
			}
			noRaw := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Raw" }, cmp.Ignore())
			if diff := cmp.Diff(tc.want, got, noRaw, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNobodyIsAnAnswer(t *testing.T) {
	p := DefaultProfile()
	c := DecodeConversation(object(t, fill(`{"id":"$conv","assignee_id":null,"user_id":"$person2"}`)), &p)
	if c.AssigneeID != "" {
		t.Errorf("assigned to %s, want nobody", c.AssigneeID)
	}
}

func TestListEnvelopes(t *testing.T) {
	for name, body := range map[string]string{
		"bare":    `[` + jsonLabel + `]`,
		"data":    `{"data":[` + jsonLabel + `]}`,
		"items":   `{"items":[` + jsonLabel + `],"total":1}`,
		"results": `{"results":[` + jsonLabel + `],"next_cursor":null}`,
		"nested":  `{"data":{"items":[` + jsonLabel + `]}}`,
		"named":   `{"labels":[` + jsonLabel + `],"count":1}`,
	} {
		labels, err := setup(t, answer(200, body)).ListLabels(t.Context())
		if err != nil || len(labels) != 1 || labels[0].Name != "vip" {
			t.Errorf("%s: %+v, %v", name, labels, err)
		}
	}
	for _, body := range []string{`{"data":null}`, `{"items":null,"next_cursor":null,"total":0}`, `{"data":{"items":null}}`, `{"data":null,"meta":{"next_cursor":null}}`, `null`} {
		if labels, err := setup(t, answer(200, body)).ListLabels(t.Context()); err != nil || len(labels) != 0 {
			t.Errorf("%s: %+v, %v", body, labels, err)
		}
	}
	for _, body := range []string{`{"a":[],"b":[]}`, `"text"`, `{"data":{}}`, `{"labels":{},"error":null}`, `{"data":null,"error":{"code":"broken"}}`, `{}`} {
		if _, err := setup(t, answer(200, body)).ListLabels(t.Context()); err == nil || !strings.Contains(err.Error(), "not a list") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestWrappedObjects(t *testing.T) {
	for _, body := range []string{jsonConversation, `{"data":` + jsonConversation + `}`, `{"conversation":` + jsonConversation + `}`, `{"data":{"conversation":` + jsonConversation + `}}`} {
		v, err := setup(t, answer(200, body)).GetConversation(t.Context(), idConv)
		if err != nil || v.ID != idConv || v.Name != "Maria" {
			t.Errorf("%s: %+v, %v", body, v, err)
		}
	}
	a, err := setup(t, answer(200, `{"attendance":`+jsonAttendance+`,"contact":`+jsonContact+`,"responsible":`+jsonPerson+`}`)).GetAttendance(t.Context(), idAtt)
	if err != nil || a.Contact == nil || a.Contact.Name != "Maria" || a.Assignee == nil || a.Assignee.Name != "Ana" {
		t.Errorf("what is beside the attendance is lost: %+v, %v", a, err)
	}
	for _, body := range []string{"null", "", "{}", `{"data":null}`, `{"attendance":null}`} {
		if a, err := setup(t, answer(200, body)).CurrentAttendance(t.Context(), idConv); a != nil || err != nil {
			t.Errorf("no attendance as %q: %+v, %v", body, a, err)
		}
	}
}

func TestChangesMayBeAnsweredWithLittle(t *testing.T) {
	for _, body := range []string{"", "null", `{"ok":true}`} {
		c := setup(t, answer(200, body))
		if _, err := c.UpdateConversation(t.Context(), idConv, ConversationPatch{Pinned: Set(true)}); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		if _, err := c.CreateContact(t.Context(), NewContact{Name: "a", Phone: "1"}); !IsUncertain(err) {
			t.Errorf("a new contact without an id: %v", err)
		}
	}
}

func TestSigningSecret(t *testing.T) {
	for _, body := range []string{
		jsonHookSecret, strings.Replace(jsonHookSecret, `"secret"`, `"signing_secret"`, 1), `{"webhook":` + jsonHook + `,"secret":"whsec_1"}`,
		`{"data":` + strings.Replace(jsonHookSecret, `"secret"`, `"webhook_secret"`, 1) + `}`, `{"data":` + jsonHookSecret + `}`,
	} {
		c := setup(t, answer(201, body))
		w, err := c.RegisterWebhook(t.Context(), NewWebhook{Name: "a", URL: "https://b", Events: []string{"message.sent"}})
		if err != nil || w.Secret != "whsec_1" || w.ID != idHook {
			t.Errorf("%s: %+v, %v", body, w, err)
		}
		if raw, _ := json.Marshal(w); strings.Contains(string(raw), "whsec_1") {
			t.Errorf("the secret can be stored by accident: %s", raw)
		}
	}
	w, err := setup(t, answer(200, `{"secret":"whsec_2"}`)).RotateSecret(t.Context(), idHook)
	if err != nil || w.Secret != "whsec_2" || w.ID != idHook {
		t.Errorf("rotated: %+v, %v", w, err)
	}
}

func TestEventNamesAsObjects(t *testing.T) {
	names, err := setup(t, answer(200, `{"events":[{"name":"message.sent","description":"…"}]}`)).ListEvents(t.Context())
	if diff := cmp.Diff([]string{"message.sent"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestLookup(t *testing.T) {
	raw := object(t, `{"a":{"b":null,"c":[{"d":1}]},"e":"x"}`)
	for _, tc := range []struct {
		paths Paths
		want  any
		found bool
	}{
		{Paths{"e"}, "x", true}, {Paths{"a.b", "e"}, "x", true}, {Paths{"a.b"}, nil, true}, {Paths{"a.c.0.d"}, 1.0, true},
		{Paths{"z", "a.z", "a.c.1", "a.c.x", "e.f", ""}, nil, false}, {nil, nil, false},
	} {
		if got, ok := Lookup(raw, tc.paths); got != tc.want || ok != tc.found {
			t.Errorf("%v: %v, %v", tc.paths, got, ok)
		}
	}
}

// FuzzDecode feeds every decoder what a service, or an attacker in its name, might send.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{jsonConversation, jsonMessage, jsonContact, jsonAttendance, jsonCard, jsonReport, jsonHookSecret, jsonRules, jsonSector, `{"data":{"id":[]}}`, `{"id":1e308,"created_at":-1,"size":"1e999"}`} {
		f.Add([]byte(s), "message.received")
	}
	p := DefaultProfile()
	f.Fuzz(func(t *testing.T, b []byte, eventType string) {
		var v any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		_, _, _ = pageOf[Label](&p, v)
		m, _ := v.(map[string]any)
		before, _ := json.Marshal(m)
		decodeAll(m, &p)
		for _, kind := range []Kind{KindConversation, KindContact, KindMessage, KindAttendance, KindCard} {
			p.EventID(kind, eventType, m)
		}
		p.EventMessage(eventType, m)
		p.EventCardMove(m)
		p.EventChanged(m)
		if after, _ := json.Marshal(m); string(before) != string(after) {
			t.Errorf("decoding changed the object from %s to %s", before, after)
		}
		if w := DecodeWebhook(m, &p); len(w.Secret) > 8 {
			if raw, _ := json.Marshal(w.Raw["secret"]); strings.Contains(string(raw), string(w.Secret)) {
				t.Errorf("the secret stays in %s", raw)
			}
		}
	})
}

func decodeAll(m map[string]any, p *Profile) {
	DecodeIdentity(m, p)
	DecodeChannel(m, p)
	DecodeConversation(m, p)
	DecodeMessage(m, p)
	DecodeMedia(m, p)
	DecodeMediaLink(m, p)
	DecodeContact(m, p)
	DecodeLabel(m, p)
	DecodeAttendance(m, p)
	DecodeAssignment(m, p)
	DecodePerson(m, p)
	DecodeSector(m, p)
	DecodeCompanyRules(m, p)
	DecodeReport(m, p)
	DecodeWebhook(m, p)
	DecodeDelivery(m, p)
	DecodeBoard(m, p)
	DecodeCard(m, p)
}

func BenchmarkDecodeConversation(b *testing.B) {
	var m map[string]any
	_ = json.Unmarshal([]byte(jsonConversation), &m)
	p := DefaultProfile()
	b.ReportAllocs()
	for b.Loop() {
		DecodeConversation(m, &p)
	}
}
