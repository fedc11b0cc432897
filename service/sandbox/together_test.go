package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// TestTogether does everything at once, for the race detector, and closes the
// sandbox in the middle of it.
func TestTogether(t *testing.T) {
	d := open(t, func(o *sandbox.Options) {
		o.Frozen = time.Time{} // a running clock, with timers of its own
		o.KanbanEvents = true
		o.Transport = transport(func(r *http.Request) (*http.Response, error) {
			return answerWith(r, 200+300*(time.Now().Nanosecond()/1000%2)), nil // every other one fails
		})
	})
	d.api("POST /integrations/webhooks", m{"name": "x", "url": "http://127.0.0.1/", "events": []string{"message.received", "message.sent", "conversation.updated", "kanban.card.moved"}}).want(201)
	conversation := d.ana()
	ctx := context.Background()
	end := time.Now().Add(300 * time.Millisecond)
	var all sync.WaitGroup
	for worker, do := range []func(n int){
		func(n int) {
			_, _ = d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+551198%07d", n%50), Text: "hi"})
		},
		func(n int) {
			d.api("POST /conversations/"+conversation+"/messages", m{"client_id": uuid(n + 1), "text": "x"})
		},
		func(int) { d.api("GET /conversations?q=ana", nil) },
		func(int) { d.api("GET /kanban/cards", nil) },
		func(n int) {
			_, _ = d.TeamMessage(sandbox.TeamMessage{Conversation: fmt.Sprintf("+551198%07d", n%50), Person: "Bruno", Text: "hi"})
		},
		func(n int) { _, _ = d.TeamClose(sandbox.TeamClose{Conversation: fmt.Sprintf("+551198%07d", n%50)}) },
		func(int) { _, _ = d.Advance(ctx, time.Minute) },
		func(int) {
			_ = d.AddFault(sandbox.Fault{Operation: "GET /kanban/cards", Kind: "status_before", Count: 1})
			d.Effects()
		},
		func(n int) {
			if n%20 == 0 {
				_ = d.SetState(d.State())
			}
			time.Sleep(time.Millisecond)
		},
	} {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				do(n*10 + worker)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	closed := make(chan struct{})
	go func() {
		_ = d.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("Close waits for something that does not end")
	}
	all.Wait()
}
