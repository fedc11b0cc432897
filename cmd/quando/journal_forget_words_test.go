package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/rules"
)

// TestForgetWords forgets somebody by phone, in whatever way a service writes numbers and whatever
// it calls a contact, a phone, a name and a text: also what others were told of them.
func TestForgetWords(t *testing.T) {
	const profile = "event: { contact: [cliente] }\ncontact: { phone: [telefone], name: [nome] }\nmessage: { text: [texto] }\n"
	for name, test := range map[string]struct{ profile, data, phone string }{
		"as the sandbox has it":     {"", `{"contact":{"id":"1ff3570a-9f58-45d6","name":"Zuleika Marcador","phone":"+5511977712345"},"message":{"text":"please cancel my order ZK-99871"}}`, "+55 (11) 97771 2345"},
		"with relatives of names":   {"", `{"contact":{"id":"1ff3570a-9f58-45d6","full_name":"Zuleika Marcador","phone_number":"5511977712345"},"message":{"body":"please cancel my order ZK-99871"}}`, "11 97771-2345"},
		"of the sender":             {"", `{"sender":{"name":"Zuleika Marcador","phone":"+55 11 97771-2345"},"text":"please cancel my order ZK-99871"}`, "+5511977712345"},
		"in one object":             {"", `{"contact_phone":"11977712345","sender_name":"Zuleika Marcador","message":"please cancel my order ZK-99871"}`, "97771-2345"},
		"where from is the phone":   {"", `{"from":"5511977712345","customer_name":"Zuleika Marcador","text":"please cancel my order ZK-99871"}`, "+55 11 97771-2345"},
		"as a profile has it":       {profile, `{"cliente":{"id":"1ff3570a-9f58-45d6","nome":"Zuleika Marcador","telefone":"+5511977712345"},"texto":"please cancel my order ZK-99871"}`, "+5511977712345"},
		"without the ninth digit":   {"", `{"contact":{"id":"1ff3570a-9f58-45d6","name":"Zuleika Marcador","phone":"551177712345"},"message":{"text":"please cancel my order ZK-99871"}}`, "+55 11 97771-2345"},
		"with the zero of an area":  {"", `{"contact":{"id":"1ff3570a-9f58-45d6","name":"Zuleika Marcador","phone":"+5511977712345"},"message":{"text":"please cancel my order ZK-99871"}}`, "011 97771-2345"},
		"as a number":               {"", `{"contact":{"id":"1ff3570a-9f58-45d6","name":"Zuleika Marcador","phone":5511977712345},"message":{"text":"please cancel my order ZK-99871"}}`, "+5511977712345"},
		"with more than one phone ": {"", `{"contact":{"id":"1ff3570a-9f58-45d6","name":"Zuleika Marcador","phone":"+5511977712345","mobile":"+5521966677712345"},"message":{"text":"please cancel my order ZK-99871"}}`, "+5511977712345"},
	} {
		t.Run(name, func(t *testing.T) {
			where := filepath.Join(t.TempDir(), "quando.db")
			config := filepath.Join(filepath.Dir(where), "quando.yaml")
			clitest.WriteFile(t, config, "service: { profile: profile.yaml }\n")
			clitest.WriteFile(t, filepath.Join(filepath.Dir(where), "profile.yaml"), test.profile)
			record(t, where, "conversation:a", "message.received", test.data)
			record(t, where, "conversation:b", "message.sent", `{"contact":{"id":"0b6a1f2e-1111-2222","name":"Rui Alves","phone":"+5511944440000"},"message":{"text":"Zuleika Marcador (011) 7771-2345, +5511977712345: please cancel my order ZK-99871"}}`)
			record(t, where, "conversation:b", "message.received", `{"contact":{"id":"0b6a1f2e-1111-2222","name":"Rui Alves","phone":"+5511944440000"},"sender":{"name":"Rui Alves","phone":"+5511944440000"},"message":{"text":"good morning"}}`)
			// One of the team has the same first name.
			j, err := storage.Open(t.Context(), where, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.SetCursor(t.Context(), "names/default", `{"entries":[{"id":"7","name":"Zuleika"}]}`); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			code, out, errOut := quando(t, "journal", "forget", "--phone", test.phone, "--config", config)
			if code != 0 || !strings.Contains(out, "found nowhere") {
				t.Errorf("%d %s %s", code, out, errOut)
			}
			c := &crime{office: &office{t: t}, where: where}
			rows := c.rows()
			for _, mark := range []string{"77712345", "7771-2345", "Zuleika M", "Marcador", "ZK-99871"} {
				if i := strings.Index(rows, mark); i >= 0 {
					t.Errorf("%q is left: %s", mark, rows[max(0, i-200):min(len(rows), i+100)])
				}
			}
			if !strings.Contains(rows, "good morning") || !strings.Contains(rows, "Rui Alves") || !strings.Contains(rows, `"Zuleika"`) {
				t.Errorf("something of others is gone: %s", rows)
			}
		})
	}
}

var recorded int

// record puts an event into a journal as an engine would, and decides that nothing comes of it.
func record(t *testing.T, where, lane, typ, data string) {
	t.Helper()
	recorded++
	at := time.Date(2026, 11, 13, 20, 50, recorded, 0, time.UTC)
	s := story{event: rules.Event{Workspace: "default", ID: fmt.Sprintf("0192f3a4-2222-7000-8000-%012d", recorded), Type: typ, Lane: lane, CreatedAt: at, ReceivedAt: at}}
	if err := json.Unmarshal([]byte(data), &s.event.Data); err != nil {
		t.Fatal(err)
	}
	j, err := storage.Open(t.Context(), where, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.tell(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
