package sandbox_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

// FuzzState holds that no document breaks the sandbox, and that one that was
// taken is given back as it was read.
func FuzzState(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"contacts":[{"name":"Ana","phone":"+5511988887777"}]}`,
		`{"contacts":[{"name":"Ana"}],"conversations":[{"contact":"Ana"}],"attendances":[{"conversation":"Ana"}],"messages":[{"conversation":"Ana","text":"hi"}]}`,
		`{"boards":[{"name":"Sales","stages":[{"name":"Lead"}]}],"cards":[{"board":"Sales","title":"x","stage":"Lead"}]}`,
		`{"webhooks":[{"url":"https://hooks.example.com","events":["message.sent"],"active":true}],"keys":[{"api_key":"qsk_1","boards":["Sales"]}]}`,
		`{"channels":[{"name":"A","private":true}],"sectors":[{"name":"S","members":["Ana"]}],"people":[{"name":"Ana"}],"now":"2026-11-13T17:50:00-03:00"}`,
		`{"attendance_rules":{"auto_close_after_minutes":5},"faults":[{"operation":"*","kind":"delay","delay":"1s"}],"media":[{"content":"aGk="}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := sandbox.New(sandbox.Options{Frozen: friday, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.SetState(doc) != nil {
			return
		}
		first := s.State()
		if err := s.SetState(first); err != nil {
			t.Fatalf("its own state is refused: %v\n%s", err, first)
		}
		if diff := cmp.Diff(parse(t, first), parse(t, s.State())); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
}
