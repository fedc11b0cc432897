package builtin

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/quandohq/quando/actions"
)

// TestClientIDIsOfVersionFive shows that a client_id is the name-based UUID of the step's key, as
// in the standard: with another value, messages in flight would be sent again.
func TestClientIDIsOfVersionFive(t *testing.T) {
	for _, key := range []string{"", "acme/rule/event/1", strings.Repeat("a long event id ", 40), "é\x00\xff"} {
		want := uuid.NewSHA1(clientIDs, []byte(key)).String()
		if got := clientID(&actions.Step{Key: key}); got != want {
			t.Errorf("%.20q has %s, not %s", key, got, want)
		}
	}
}
