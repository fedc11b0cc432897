package console

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	liveEvery = time.Second      // shortest time between two notifications of a page
	liveBeat  = 15 * time.Second // interval of notifications without a change here: other processes may have changed the journal
	liveWrite = 10 * time.Second // how long a browser may take to listen
	liveMost  = 200              // pages connected at once
)

// A live notifies open pages of changes.
type live struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
	closed  chan struct{}
	once    sync.Once
}

func newLive() *live { return &live{waiting: map[chan struct{}]bool{}, closed: make(chan struct{})} }

func (l *live) close() { l.once.Do(func() { close(l.closed) }) }

// notify does not block: a page with a pending notification needs no second one.
func (l *live) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for page := range l.waiting {
		select {
		case page <- struct{}{}:
		default:
		}
	}
}

// join returns a page's notification channel, or nil if there are too many.
func (l *live) join() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= liveMost {
		return nil
	}
	page := make(chan struct{}, 1)
	l.waiting[page] = true
	return page
}

func (l *live) leave(page chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, page)
}

// stream serves server-sent events that only say that something has changed. The page then fetches
// it.
func (c *Console) stream(q *request) error {
	news := c.live.join()
	if news == nil {
		return problem(http.StatusServiceUnavailable, "error.busy")
	}
	defer c.live.leave(news)
	control := http.NewResponseController(q.w)
	q.w.Header().Set("Content-Type", "text/event-stream")
	write := func(text string) bool {
		// The server's own bound is for answers that end.
		_ = control.SetWriteDeadline(time.Now().Add(liveWrite))
		_, err := fmt.Fprint(q.w, text)
		return err == nil && control.Flush() == nil
	}
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	for ok := write("retry: 2000\n\n"); ok; {
		select {
		case <-q.r.Context().Done():
			return nil
		case <-c.live.closed:
			return nil
		case <-news:
		case <-beat.C:
		}
		if !c.gate.Lasts(q.user) {
			return nil
		}
		ok = write("event: change\ndata: 1\n\n")
		select {
		case <-q.r.Context().Done():
			return nil
		case <-c.live.closed:
			return nil
		case <-time.After(liveEvery):
		}
	}
	return nil
}

func stoppingLink(stopped bool, here string) string {
	return "/stopping?was=" + strconv.FormatBool(stopped) + "&back=" + escapeQuery(here)
}

// stopping updates the stop banner of an open page, if it has changed.
func (c *Console) stopping(q *request) error {
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return err
	}
	p := page{Stopped: isStopped(holds), Acts: q.user.Role >= Operator, Here: localPath(q.r.URL.Query().Get("back"))}
	if q.r.URL.Query().Get("was") == strconv.FormatBool(p.Stopped) {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	p.Watch = stoppingLink(p.Stopped, p.Here)
	var b bytes.Buffer
	if err := c.templates[q.lang].show(&b, "error", "stopping_anew", p); err != nil {
		return fmt.Errorf("what is stopped: %w", err)
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = q.w.Write(b.Bytes()) // the client may have disconnected
	return nil
}
