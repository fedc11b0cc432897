package builtin

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quandohq/quando/service"
)

// TestMembersAreWrittenAsTheirObject shows that a message's members are encoded like its facts,
// byte for byte.
func TestMembersAreWrittenAsTheirObject(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"", "a", "olá", "\x00", "\t\r\n\b\f", `"\`, "<b>&amp;</b>", "\u2028\u2029", "\xff\xc3", "😀", "\ufffd", "\x7f", "{}", "null", "0192f3a4-0000-7000-b000-000000000001"}
	text := func() (s string) {
		for range random.IntN(4) {
			s += parts[random.IntN(len(parts))]
		}
		return s
	}
	times := []time.Time{{}, time.Unix(0, 0).UTC(), time.Date(2026, 11, 13, 20, 50, 0, 123_000_000, time.UTC), time.Date(2026, 11, 13, 20, 50, 0, 1, time.FixedZone("", -3*3600)), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	for range 20_000 {
		m := service.Message{
			ID: text(), ConversationID: text(), ClientID: text(), Text: text(), MediaID: text(), ReplyToExternalID: text(), ExternalID: text(),
			Direction: []string{"", service.Inbound, service.Outbound}[random.IntN(3)], CreatedAt: times[random.IntN(len(times))],
		}
		want, err := json.Marshal(messageFact(m))
		if err != nil {
			t.Fatal(err)
		}
		told := messageMembers(m, messageFact(m)["by"])
		if got, err := appendMembers(nil, told[:]); err != nil || string(got) != string(want) {
			t.Fatalf("%+v is written as %s, %v; want %s", m, got, err, want)
		}
	}
}

// TestMembersThatCannotBeWritten shows that what cannot be encoded is not written in part.
func TestMembersThatCannotBeWritten(t *testing.T) {
	told := messageMembers(service.Message{CreatedAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}, nil)
	if got, err := appendMembers(nil, told[:]); got != nil || err == nil {
		t.Errorf("%s, %v", got, err)
	}
}
