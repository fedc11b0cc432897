package console

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/console/internal/session"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

//go:embed templates
var templateFiles embed.FS

// templates are the pages in one language. Each is parsed on first use: all of them take as much
// memory as an idle engine.
type templates struct {
	words.Language
	all map[string]func() (*template.Template, error)
}

// show writes a page, or a part of it.
func (t *templates) show(w io.Writer, page, part string, data any) error {
	all, err := t.all[page]()
	if err != nil {
		return err
	}
	return all.ExecuteTemplate(w, part, data)
}

// layout is the whole of a page.
const layout = "layout.html"

// pages are the templates, one for each page.
var pages = []string{
	"today", "rules", "rule", "list", "run", "event", "conversations", "conversation", "calendars", "calendar", "hours", "health", "audit", "simulator", "login", "again", "paused", "error",
	"begin", "blanks", "write", "history", "totest", "delete", "deleted", "start", "variables", "search", "partspage", "proposals", "proposal",
}

// ownAssets are what the style sheets and scripts are called that only some pages need.
var ownAssets = map[string]string{"list": "activity", "run": "activity", "event": "activity", "conversations": "story", "conversation": "story", "calendars": "hours", "calendar": "hours", "hours": "hours", "simulator": "simulator"}

// allTemplates are the pages in each language. The clock says which day is today.
func allTemplates(now func() time.Time) map[string]*templates {
	out := map[string]*templates{}
	for _, w := range words.Languages {
		w = w.WithClock(now)
		set := &templates{Language: w, all: map[string]func() (*template.Template, error){}}
		for _, name := range pages {
			set.all[name] = sync.OnceValues(func() (*template.Template, error) {
				return template.New(layout).Funcs(w.Functions()).Funcs(template.FuncMap{"icon": icon, "line": storyLine}).ParseFS(templateFiles, "templates/"+layout, "templates/parts.html", "templates/studio.html", "templates/proof.html", "templates/activity.html", "templates/rows.html", "templates/"+name+".html")
			})
		}
		out[w.Code] = set
	}
	return out
}

// A request is a request being handled.
type request struct {
	w       http.ResponseWriter
	r       *http.Request
	console *Console
	user    *session.Identity
	lang    string
	now     time.Time
	here    string            // the address to reload the page from, if it differs
	sayings map[string]saying // by workspace and rule
	nonce   string            // that styles which a script adds must carry; empty is a page without such
}

func (q *request) ctx() context.Context { return q.r.Context() }

// words are those of the request's language.
func (q *request) words() words.Language { return q.console.templates[q.lang].Language }

// A page is what the layout shows around a page's own part.
type page struct {
	Title   string
	Menu    []menuGroup
	Crumb   *place   // above the page; nil is none
	Spaces  []choice // the workspaces, if there are several
	Needs   int      // things that need a person
	Lang    string
	Langs   []words.Language
	Here    string // the page's own address
	Version string
	User    string
	Role    string
	Asks    bool   // there is a session to log out of
	Acts    bool   // the user may stop things
	Stopped bool   // everything is stopped
	Watch   string // where to ask whether that has changed
	Said    string
	Now     time.Time
	Nonce   string
	Rules   bool   // it is about rules and their texts
	Studio  bool   // a rule is shown on its rail
	Proof   bool   // what a rule would do is shown beside it
	Charts  bool   // it has figures over days
	Own     string // what its own style sheet and script are called; empty is none
	Body    any
}

// show writes a page.
func (q *request) show(name, nav, title string, body any) error {
	return q.showAs(http.StatusOK, name, nav, title, body)
}

func (q *request) showAs(status int, name, nav, title string, body any) error {
	p := page{
		Title: title, Lang: q.lang, Langs: words.Languages, Here: q.address(), Version: q.console.options.Version, Now: q.now, Nonce: q.nonce, Rules: nav == "rules", Studio: name == "write" || name == "rule", Proof: name == "write" || name == "rule" || name == "proposal", Charts: name == "today" || name == "write" || name == "rule", Own: ownAssets[name], Body: body, Asks: q.console.gate.Asks(),
	}
	if q.user != nil {
		p.User, p.Role, p.Acts = q.user.Name, q.user.Role.String(), q.user.Role >= Operator
		holds, err := q.console.options.Journal.Holds(q.ctx())
		if err != nil {
			return err
		}
		p.Stopped = isStopped(holds)
		if p.Needs, err = q.console.countNeeds(q); err != nil {
			return err
		}
		p.Watch = stoppingLink(p)
		q.frame(&p, nav)
	}
	if said := q.r.URL.Query().Get("said"); said != "" && q.words().Knows("said."+said) {
		p.Said = q.words().T("said." + said)
	}
	var b bytes.Buffer
	if err := q.console.templates[q.lang].show(&b, name, layout, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.w.Header().Set("Content-Language", q.words().Tag)
	q.w.WriteHeader(status)
	_, _ = q.w.Write(b.Bytes()) // the client may have disconnected
	return nil
}

// address is where the page can be loaded again: the target of a form cannot.
func (q *request) address() string {
	switch {
	case q.here != "":
		return q.here
	case q.r.Method == http.MethodPost:
		return localPath(q.r.PostFormValue("back"))
	}
	return q.r.URL.RequestURI()
}

// isStopped reports whether a person holds everything.
func isStopped(holds []journal.Hold) bool {
	for _, h := range holds {
		if h.Workspace == "" && h.Rule == "" && h.Kind == journal.HoldPerson {
			return true
		}
	}
	return false
}

// A pageError is an error for the user, in words of the catalogue.
type pageError struct {
	status int
	key    string
	args   []any
}

func (e *pageError) Error() string { return e.key }

func problem(status int, key string, args ...any) error { return &pageError{status, key, args} }

var errNotFound = problem(http.StatusNotFound, "error.none")

// fail shows an error. Internal errors go to the log.
func (c *Console) fail(q *request, err error) {
	p, ok := errors.AsType[*pageError](err)
	if !ok {
		if q.ctx().Err() != nil {
			return // the client has disconnected
		}
		c.log.Error("a page of the console failed", "path", q.r.URL.Path, "error", err)
		p = &pageError{status: http.StatusInternalServerError, key: "error.own"}
	}
	if err := q.showAs(p.status, "error", "", q.words().T("error.title"), q.words().T(p.key, p.args...)); err != nil {
		http.Error(q.w, q.words().T("error.own"), http.StatusInternalServerError)
	}
}

// back returns to the page that a form was on, with a word on what was done.
func (q *request) back(said string) error {
	to, err := url.Parse(localPath(q.r.PostFormValue("back")))
	if err != nil {
		to = &url.URL{Path: "/"}
	}
	if said != "" {
		query := to.Query()
		query.Set("said", said)
		to.RawQuery = query.Encode()
	}
	http.Redirect(q.w, q.r, to.RequestURI(), http.StatusSeeOther)
	return nil
}

// localPath returns a path of the console itself, or "/".
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

func escapeQuery(s string) string { return url.QueryEscape(s) }

// spaces names the workspaces, where there are several.
func (c *Console) spaces() (names []string) {
	if len(c.options.Workspaces) > 1 {
		for _, w := range c.options.Workspaces {
			names = append(names, w.Name)
		}
	}
	return names
}

func pageLink(path string, kept url.Values, before int64) string {
	next := url.Values{"before": {strconv.FormatInt(before, 10)}}
	for name, values := range kept {
		next[name] = values
	}
	return path + "?" + next.Encode()
}

// numberOf reads a number of an address; none is 0.
func numberOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, problem(http.StatusBadRequest, "error.filter")
	}
	return n, nil
}
