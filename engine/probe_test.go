package engine_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service"
)

// TestProbesDoNotWaitForEachOther shows that a workspace whose service does not answer does not
// keep another from continuing when its key works again.
func TestProbesDoNotWaitForEachOther(t *testing.T) {
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(answer) })
	client := must(service.New(service.Options{BaseURL: silent.URL, APIKey: "key", MaxWait: -1, Timeout: time.Minute}))
	o := builtin.Options{Client: client, Directory: service.NewDirectory(client), Location: saoPaulo}
	d := newDesk(t, "rules: []", func(o2 *deskOptions) {
		o2.others = []engine.Workspace{{Name: "a-silent-one", Actions: must(actions.NewRegistry(must(builtin.New(o))...)), Desk: must(builtin.NewDesk(o))}}
	})
	if err := d.engine.SetRules("a-silent-one", d.set); err != nil {
		t.Fatal(err)
	}
	hold := func(workspace string, until time.Time) {
		if _, err := d.journal.Hold(t.Context(), journal.Hold{Workspace: workspace, Kind: journal.HoldKey, Since: time.Now(), Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	hold("a-silent-one", time.Now())
	d.live()
	select {
	case <-asked:
	case <-time.After(50 * time.Second):
		t.Fatal("the silent service is not asked")
	}
	hold("default", time.Now())
	d.until("the other workspace goes on", func() bool { return len(must(d.journal.Holds(t.Context()))) == 1 })
}
