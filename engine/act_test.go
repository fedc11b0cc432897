package engine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
)

// TestRequestToASystemThatIsDown shows that a request that was refused without effect is repeated
// without asking a person.
func TestRequestToASystemThatIsDown(t *testing.T) {
	up := false
	calls := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		if !up {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer other.Close()
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ http_request: { method: POST, url: "`+other.URL+`/hook", json: { a: 1 } } }] }
`, func(o *deskOptions) {
		o.http = []builtin.HTTPHost{{Host: strings.TrimPrefix(other.URL, "http://"), Private: true}}
	})
	d.customer(ana, "hello")
	d.pass(time.Minute)
	up = true
	d.pass(time.Hour)
	d.wantStates("it", journal.Done)
}
