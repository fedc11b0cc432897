// Package console serves the web console: people see what rules did, find out why, and stop them.
package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/alerts"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/console/internal/session"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

// A Journal is the part of the journal that the console uses.
type Journal interface {
	journal.Reader
	journal.Statistics
	journal.Auditor

	Events(ctx context.Context, seqs ...int64) ([]*journal.Event, error)
	Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error)
	Version(ctx context.Context, hash string) (source string, err error)
	Ask(ctx context.Context, now time.Time, run int64, ask journal.Ask) error
	Hold(ctx context.Context, h journal.Hold) (underWay []journal.UnderWay, err error)
	Lift(ctx context.Context, now time.Time, h journal.Hold) (bool, error)
	Mute(ctx context.Context, changes ...journal.MuteChange) error
	Muted(ctx context.Context, workspace, lane string, at time.Time) (*journal.Mute, error)
}

// Options configure a Console. Journal and Workspaces are required; every other zero value works.
type Options struct {
	Journal    Journal
	Workspaces []Workspace
	Access     Access

	// Metrics are served beside the pages, with the same access; may be nil.
	Metrics http.Handler

	// Names returns the name of an object of the service (a label, a sector, a person …) by its id, or
	// "". May be nil.
	Names func(workspace, id string) string

	// Explain explains in a language why each rule did or did not fire for an event. Without it, pages
	// show the recorded verdicts.
	Explain func(ctx context.Context, e *journal.Event, l rules.Language) ([]Explanation, error)

	// Checks checks what the engine depends on. It may be slow: pages show the last result. May be
	// nil.
	Checks func(ctx context.Context) []Check

	// Mend repairs what a check found, if Check.Mends allows it. May be nil.
	Mend func(ctx context.Context, workspace string, kind CheckKind) error

	// ReloadHolds makes the engine reload the holds now, so that it does not decide on what has to
	// wait. Without it the engine reloads them at its next interval; calls do not begin either way.
	ReloadHolds func(ctx context.Context, now time.Time) error

	// Accept records events for the engine, each id once. Without it, rules are not started by hand.
	Accept func(ctx context.Context, events ...rules.Event) ([]bool, error)

	// Calls returns how the service has answered the engine's calls. May be nil.
	Calls func() []Calls

	// Limits returns the state of the rate limiters. May be nil.
	Limits func() []Limit

	// Repairs returns the state of the backfill. May be nil.
	Repairs func(ctx context.Context) []Repair

	// Alerts returns how each way to tell people outside of the console stands; none if nobody is
	// told. TestAlerts sends a test each way. Both may be nil.
	Alerts     func(ctx context.Context) ([]alerts.Status, error)
	TestAlerts func(ctx context.Context) []alerts.Result

	// Assistants answers an assistant at /mcp, whose token was checked. Nil is that there is no such
	// address.
	Assistants func(w http.ResponseWriter, r *http.Request, who Assistant)

	Version string           // of the program
	Now     func() time.Time // nil is time.Now
	Logger  *slog.Logger     // nil means no log
}

// A Workspace is one company as the console sees it.
type Workspace struct {
	Name     string
	Location *time.Location // nil is UTC
	Safety   engine.Safety

	// Simulator is set if the service is an imitation whose people can be played; nil is a real
	// service.
	Simulator Simulator
	// Rules returns the rules as they stand.
	Rules func() Book
	// Source returns the text of a rule's file. Nil, or an empty text, shows the engine's own copy of
	// the rule.
	Source func(r *rules.Rule) string
	// Profile says where events have their messages; nil is the default one.
	Profile *service.Profile

	Catalog *rules.Catalog // the verbs that rules may use; nil is that of Editing
	Editing *Editing       // nil is that rules are not written here
}

// A Book is the rules of a workspace as they stand.
type Book struct {
	Set      *rules.Set // in use; Broken are not, or not as they stand
	Problems rules.Problems
}

// An Explanation says why a rule did or did not fire for an event.
type Explanation struct {
	Rule    string
	Outcome journal.Outcome // empty if the rule was not evaluated
	Clauses []Clause
	Words   string          // what else there is to say
	Error   string          // what stood in the way, as it was recorded
	Why     *phrases.Phrase // the Error as a phrase; nil if it has none
	Would   bool            // it was not evaluated: this is what it would have decided
}

// A Clause is one condition of a rule, and its result.
type Clause struct {
	Text   string
	Result string // true, false, error, not_reached or not_known
	Values map[string]any
	Words  string // what was so
	Part   string // of a clause that is false: the part that made it so
}

// A Check is one check of something that the engine depends on.
type Check = attention.Check

// Calls is how the service of a workspace has answered the calls of one operation.
type Calls = attention.Calls

// A Limit is how calls to the service of a workspace are held back.
type Limit struct {
	Workspace string
	PerSecond float64       // our own ceiling; 0 is none
	Until     time.Time     // end of the pause that the service asked for; in the past or zero if there is none
	Asked     time.Time     // when it last asked for one; zero if never
	Length    time.Duration // of that pause
	Times     int           // how often it asked since the process started
}

// A Repair is the state of a workspace's backfill.
type Repair struct {
	Workspace string
	Looking   bool            // at present
	Part      string          // the current part: attendances, messages or cards
	Looked    int             // objects read, by this pass or the last one
	Calls     int             // that it made
	Found     int             // events that it found
	Ended     time.Time       // when the last pass ended; zero if never
	Problem   string          // that keeps it from finding everything
	Why       *phrases.Phrase // the Problem as a phrase; nil if it has none
	Counts    map[string]int  // events that were found in the last day, by type
}

// A CheckKind is a kind of check.
type CheckKind = attention.CheckKind

// The kinds of checks.
const (
	CheckService      = attention.CheckService
	CheckKey          = attention.CheckKey
	CheckClock        = attention.CheckClock
	CheckWebhook      = attention.CheckWebhook
	CheckSubscription = attention.CheckSubscription
	CheckJournal      = attention.CheckJournal
	CheckSends        = attention.CheckSends
	CheckReads        = attention.CheckReads
	CheckOthers       = attention.CheckOthers
	CheckScopes       = attention.CheckScopes
)

// A Console serves the pages. It is an engine.Observer: notifications of the engine make open pages
// reload.
type Console struct {
	options    Options
	workspaces map[string]*Workspace
	log        *slog.Logger
	now        func() time.Time

	attention *attention.Finder
	gate      *session.Gate
	templates map[string]*templates // by language
	live      *live
	checks    checks
	checked   checking // texts of rules
	shownMu   sync.Mutex
	shown     map[string]*lastShown // what was said of them last, by person
	tried     checking              // trials
	trying    chan struct{}         // one token per running trial
	patience  time.Duration         // how long a trial waits for one
	searching time.Duration         // how long a story to begin with is searched for
	saving    sync.Mutex            // of rule files
	index     ruleIndex
	changed   lastChanges
	purposes  purposes
	present   presence
	counted   needsCount
	handler   http.Handler
}

// New returns a console. It does not listen.
func New(o Options) (*Console, error) {
	if o.Journal == nil || len(o.Workspaces) == 0 {
		return nil, errors.New("console: a journal and a workspace are required")
	}
	c := &Console{options: o, workspaces: map[string]*Workspace{}, log: o.Logger, now: o.Now, live: newLive(), trying: make(chan struct{}, tryMost), patience: tryWait, searching: storyBegins, shown: map[string]*lastShown{}, checked: checking{most: checkTime, each: map[string]*checker{}}, tried: checking{each: map[string]*checker{}}}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	for i := range o.Workspaces {
		w := &o.Workspaces[i]
		if w.Location == nil {
			w.Location = time.UTC
		}
		if w.Profile == nil {
			profile := service.DefaultProfile()
			w.Profile = &profile
		}
		if w.Rules == nil {
			w.Rules = func() Book { return Book{} }
		}
		c.workspaces[w.Name] = w
	}
	var err error
	if c.gate, err = session.New(o.Access, c.now); err != nil {
		return nil, err
	}
	c.attention = c.newFinder()
	c.templates = allTemplates(c.now)
	c.handler = c.serve()
	return c, nil
}

// newFinder returns what finds that which needs a person. It shares the checks with the pages.
func (c *Console) newFinder() *attention.Finder {
	f := &attention.Finder{Journal: c.options.Journal, Calls: c.options.Calls, Checks: func(ctx context.Context, now time.Time) []Check {
		found, _ := c.checks.latest(context.WithoutCancel(ctx), c.options.Checks, now)
		return found
	}}
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		f.Workspaces = append(f.Workspaces, attention.Workspace{Name: w.Name, Rules: func() *rules.Set { return w.book().Set }})
	}
	return f
}

// Attention returns what finds that which needs a person, as Today shows it.
func (c *Console) Attention() *attention.Finder { return c.attention }

// ServeHTTP answers a request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Close ends what is live, so that a server can shut down.
func (c *Console) Close() { c.live.close() }

// book returns the rules of a workspace, never nil.
func (w *Workspace) book() Book {
	b := w.Rules()
	if b.Set == nil {
		b.Set = &rules.Set{}
	}
	return b
}

var _ engine.Observer = (*Console)(nil)

// change makes open pages reload. It does not block.
func (c *Console) change() { c.live.notify() }

// Recorded is called when an event was recorded.
func (c *Console) Recorded() { c.change() }

// Decided implements engine.Observer.
func (c *Console) Decided(*journal.Event) { c.change() }

// Began implements engine.Observer.
func (c *Console) Began(*journal.Run, *journal.Event) { c.change() }

// Changed implements engine.Observer.
func (c *Console) Changed(*journal.Run) { c.change() }

// Called implements engine.Observer.
func (c *Console) Called(string, string, time.Duration, error) {}

// Held implements engine.Observer.
func (c *Console) Held(journal.Hold) { c.change() }

// Lifted implements engine.Observer.
func (c *Console) Lifted(journal.Hold) { c.change() }

const (
	followEvery = 500 * time.Millisecond // interval of polling for new events
	followNext  = 10 * time.Millisecond  // between one part and the next
	followAgain = 10 * time.Second       // after a failure
)

// Run keeps what conversations are found by up with the events, until ctx ends. Without it pages
// follow as far as they need it, which is not far.
func (c *Console) Run(ctx context.Context) {
	for {
		pause := followEvery
		switch more, err := c.options.Journal.Follow(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.log.Error("what conversations are found by is not up to date", "error", err)
			pause = followAgain
		case more:
			pause = followNext
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
