package console

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
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
	every   time.Duration // shortest time between two notifications of a page
}

func newLive() *live {
	return &live{waiting: map[chan struct{}]bool{}, closed: make(chan struct{}), every: liveEvery}
}

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
		case <-time.After(c.live.every):
		}
	}
	return nil
}

// stoppingLink is where a page asks whether what its frame shows has changed.
func stoppingLink(p page) string {
	return "/stopping?was=" + strconv.FormatBool(p.Stopped) + "&needs=" + strconv.Itoa(p.Needs) + "&back=" + escapeQuery(p.Here)
}

// stopping updates the stop banner and the number of needs of an open page, if they have changed.
func (c *Console) stopping(q *request) error {
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return err
	}
	p := page{Stopped: isStopped(holds), Acts: q.user.Role >= Operator, Here: localPath(q.r.URL.Query().Get("back"))}
	if p.Needs, err = c.countNeeds(q); err != nil {
		return err
	}
	if f := q.r.URL.Query(); f.Get("was") == strconv.FormatBool(p.Stopped) && f.Get("needs") == strconv.Itoa(p.Needs) {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	p.Watch = stoppingLink(p)
	var b bytes.Buffer
	if err := c.templates[q.lang].show(&b, "error", "stopping_anew", p); err != nil {
		return fmt.Errorf("what is stopped: %w", err)
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = q.w.Write(b.Bytes()) // the client may have disconnected
	return nil
}

// A presence knows which open pages have changes that are not saved. Pages say so again and again:
// one that is closed, or loses its connection, is forgotten.
type presence struct {
	mu    sync.Mutex
	pages map[string]openPage // by an id that the page made up
}

// An openPage is a page on which a rule is being changed.
type openPage struct {
	who         string
	rule        string // workspace, file and id
	since, seen time.Time
}

const (
	presentFor  = 45 * time.Second // how long a page counts that says nothing
	presentMost = 500              // pages that are known at once
)

// set records whether a page has changes, and returns the others with changes of the same rule, and
// whether they have to be told.
func (p *presence) set(id string, page openPage, changing bool) (others []openPage, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil {
		p.pages = map[string]openPage{}
	}
	for key, other := range p.pages {
		if page.seen.Sub(other.seen) > presentFor {
			delete(p.pages, key)
		}
	}
	known, was := p.pages[id]
	switch {
	case changing && (was || len(p.pages) < presentMost):
		if was && known.rule == page.rule {
			page.since = known.since
		}
		p.pages[id] = page
	case was:
		delete(p.pages, id)
	}
	for key, other := range p.pages {
		if key != id && other.rule == page.rule {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b openPage) int { return a.since.Compare(b.since) })
	return others, changing != was
}

// presentAnswer is what a page says about other people at the same rule.
type presentAnswer struct {
	Others []string `json:"others"` // who is changing it too
	Saved  string   `json:"saved"`  // who has saved since the page was opened
}

// writePresent tells a page who else is changing its rule, and whether it was saved meanwhile.
func (c *Console) writePresent(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	id := q.r.PostFormValue("page")
	if f.file == "" || len(id) < 8 || len(id) > 64 {
		return problem(http.StatusBadRequest, "error.form")
	}
	page := openPage{who: q.user.Name, rule: strings.Join([]string{f.space.Name, f.file, f.own}, "\x00"), since: q.now, seen: q.now}
	others, news := c.present.set(q.user.Name+" "+id, page, q.r.PostFormValue("changing") != "")
	if news {
		c.change()
	}
	answer := presentAnswer{Others: []string{}}
	for _, other := range others {
		since := c.at(f.space.Name, other.since).Format("15:04")
		if other.who == q.user.Name {
			answer.Others = append(answer.Others, q.words().T("present.self", since))
		} else {
			answer.Others = append(answer.Others, q.words().T("present.other", engine.Harmless(other.who), since))
		}
	}
	if now, err := f.space.Editing.Store.Read(f.file); err == nil && now.Sum != f.was {
		answer.Saved = q.words().T("present.outside")
		if who, at, ok := c.savedBy(f, now.Sum); ok {
			answer.Saved = q.words().T("present.saved", who, at.Format("15:04"))
		}
	}
	return q.json(answer)
}

// savedBy returns who saved the text of a file that has this sum, and when; not if it was changed
// by other means.
func (c *Console) savedBy(f *draftFile, sum string) (who string, at time.Time, ok bool) {
	versions, err := f.space.Editing.Store.Versions(f.file, 0, 1)
	if err != nil || len(versions) == 0 || versions[0].Sum != sum || versions[0].Found() {
		return "", at, false
	}
	return engine.Harmless(versions[0].Who), c.at(f.space.Name, versions[0].At), true
}
