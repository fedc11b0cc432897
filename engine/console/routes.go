package console

import (
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/engine/console/internal/words"
)

// A route is an address of the console, with the role it requires.
type route struct {
	pattern string // in the syntax of http.ServeMux
	role    Role
	handle  func(*Console, *request) error
}

// routes are all addresses. Those that change something are a POST, and redirect to a page.
var routes = slices.Concat(pageRoutes, editorRoutes)

var pageRoutes = []route{
	{"GET /{$}", Viewer, (*Console).today},
	{"GET /rules", Viewer, (*Console).rules},
	{"GET /rules/{workspace}/{rule}", Viewer, (*Console).rule},
	{"GET /rules/{workspace}/{rule}/activity", Viewer, (*Console).ruleActivity},
	{"GET /activity", Viewer, (*Console).activity},
	{"GET /activity/export", Viewer, (*Console).exportActivity},
	{"GET /runs", Viewer, (*Console).activity},
	{"GET /runs/{run}", Viewer, (*Console).run},
	{"GET /events", Viewer, (*Console).activity},
	{"GET /events/{event}", Viewer, (*Console).event},
	{"GET /conversations", Viewer, (*Console).conversations},
	{"GET /conversation", Viewer, (*Console).conversation},
	{"GET /calendars", Viewer, (*Console).calendars},
	{"GET /calendars/{workspace}/{calendar}", Viewer, (*Console).calendar},
	{"GET /variables", Viewer, (*Console).variables},
	{"GET /health", Viewer, (*Console).health},
	{"GET /audit", Viewer, (*Console).audit},
	{"GET /simulator", Viewer, (*Console).simulator},
	{"GET /search", Viewer, (*Console).search},
	{"GET /live", Viewer, (*Console).stream},
	{"GET /stopping", Viewer, (*Console).stopping},
	{"GET /metrics", Viewer, (*Console).metrics},

	{"POST /pause", Operator, (*Console).pause},
	{"POST /resume", Operator, (*Console).resume},
	{"POST /mute", Operator, (*Console).mute},
	{"POST /mend", Operator, (*Console).mend},
	{"POST /alerts/test", Operator, (*Console).testAlerts},
	{"GET /rules/{workspace}/{rule}/start", Operator, (*Console).askStart},
	{"POST /rules/{workspace}/{rule}/start", Operator, (*Console).start},
	{"POST /runs/{run}/{what}", Operator, (*Console).ask},
	{"POST /failed/{what}", Operator, (*Console).askSeveral},
	{"POST /activity/{what}", Operator, (*Console).askSeveral},
	{"POST /simulator/{what}", Editor, (*Console).play},
	{"POST /logout", Viewer, (*Console).logout},

	{"GET /login", Nobody, (*Console).login},
	{"POST /login", Nobody, (*Console).loginSent},
	{"POST /language", Nobody, (*Console).language},
}

// editorRoutes are the addresses at which rules are written.
var editorRoutes = []route{
	{"GET /write", Editor, (*Console).write},
	{"POST /write/fill", Editor, (*Console).fill},
	{"GET /write/export", Editor, (*Console).export},
	{"POST /write/check", Editor, (*Console).writeCheck},
	{"POST /write/complete", Editor, (*Console).writeComplete},
	{"POST /write/edit", Editor, (*Console).writeEdit},
	{"POST /write/choices", Editor, (*Console).writeChoices},
	{"POST /write/text", Editor, (*Console).writeText},
	{"POST /write/upload", Editor, (*Console).writeUpload},
	{"POST /write/past", Editor, (*Console).writePast},
	{"POST /write/story", Editor, (*Console).writeStory},
	{"POST /write/tests", Editor, (*Console).writeTests},
	{"POST /write/record", Editor, (*Console).writeRecord},
	{"POST /write/untest", Editor, (*Console).writeUntest},
	{"POST /write/save", Editor, (*Console).writeSave},
	{"POST /write/present", Editor, (*Console).writePresent},
	{"POST /write/discard", Editor, (*Console).writeDiscard},
	{"POST /rules/{workspace}/{rule}/rename", Editor, (*Console).renameRule},
	{"POST /rules/{workspace}/{rule}/tags", Editor, (*Console).tagRule},
	{"POST /rules/{workspace}/{rule}/duplicate", Editor, (*Console).duplicateRule},
	{"GET /rules/{workspace}/{rule}/delete", Editor, (*Console).askDelete},
	{"POST /rules/{workspace}/{rule}/delete", Editor, (*Console).deleteRule},
	{"POST /calendars/{workspace}", Editor, (*Console).newHours},
	{"GET /calendars/{workspace}/{calendar}/edit", Editor, (*Console).editHours},
	{"POST /calendars/{workspace}/{calendar}/check", Editor, (*Console).checkHours},
	{"POST /calendars/{workspace}/{calendar}/save", Editor, (*Console).saveHours},
	{"GET /parts", Editor, (*Console).parts},
	{"GET /deleted", Viewer, (*Console).deleted},
	{"POST /deleted", Editor, (*Console).bringBack},
	{"GET /proposals", Editor, (*Console).proposals},
	{"GET /proposal", Editor, (*Console).proposal},
	{"POST /proposal/accept", Editor, (*Console).acceptProposal},
	{"POST /proposal/decline", Editor, (*Console).declineProposal},
	{"GET /history", Viewer, (*Console).history},
	{"POST /history/restore", Editor, (*Console).restore},
	{"GET /events/{event}/test", Editor, (*Console).eventTest},
	{"GET /runs/{run}/test", Editor, (*Console).runTest},
	{"POST /tests", Editor, (*Console).testSave},
}

// Bounds of a request's body. The editor sends a whole file, form-encoded.
const (
	maxBody     = 64 << 10
	maxFileBody = 1 << 20

	maxAssistantBody = maxFileBody + 64<<10 // arguments of a call, and what is around them
)

// assistantPath is where assistants are answered.
const assistantPath = "/mcp"

func bodyBound(path string) int64 {
	if path == "/write/upload" {
		return maxUpload
	}
	if path == assistantPath {
		return maxAssistantBody
	}
	if strings.HasPrefix(path, "/write/") || path == "/tests" {
		return maxFileBody
	}
	return maxBody
}

//go:embed assets
var assets embed.FS

// serve builds the handler: access, security headers, then the routes.
func (c *Console) serve() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, h *http.Request) { c.answer(w, h, r) })
	}
	files, _ := fs.Sub(assets, "assets") // the folder is embedded
	static := http.StripPrefix("/assets/", http.FileServerFS(files))
	mux.HandleFunc("GET /assets/{file}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=3600")
		static.ServeHTTP(w, r)
	})
	mux.HandleFunc(assistantPath, c.assistant)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.answer(w, r, route{role: Viewer, handle: func(*Console, *request) error { return errNotFound }})
	})
	inner := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secureHeaders(w.Header())
		if !c.gate.HostAllowed(r.Host) {
			// A page of another site can make its own name resolve here, and would then read everything.
			http.Error(w, "the console is not served under this name: ask for it as localhost or 127.0.0.1 on this machine, or list the name in console.hosts", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyBound(r.URL.Path))
		inner.ServeHTTP(w, r)
	})
}

// secureHeaders forbid what pages do not need: scripts and styles that are not files of ours,
// frames, other sites.
func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// allowStyles lets in the styles that bear a nonce.
func allowStyles(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), "style-src 'self'", "style-src 'self' 'nonce-"+nonce+"'", 1))
}

// answer identifies the user and checks the role.
func (c *Console) answer(w http.ResponseWriter, r *http.Request, to route) {
	user, refused := c.gate.Identify(r, c.log)
	q := &request{w: w, r: r, console: c, user: user, lang: words.LanguageOf(r), now: c.now()}
	if to.role > Nobody && refused {
		w.Header().Set("Retry-After", strconv.FormatInt(60-q.now.Unix()%60, 10))
		http.Error(w, "there were too many wrong tokens from your address: try again in a minute", http.StatusTooManyRequests)
		return
	}
	if to.role > Nobody && q.user == nil {
		c.requireLogin(q, to)
		return
	}
	err := error(nil)
	switch {
	case q.user != nil && q.user.Role < to.role:
		err = problem(http.StatusForbidden, "error.role", to.role.String())
	case r.Method == http.MethodPost:
		err = readForm(r)
	}
	if err == nil {
		err = to.handle(c, q)
	}
	if r.Method == http.MethodPost {
		c.counted.forget() // it may have dealt with something
	}
	if err != nil {
		c.fail(q, err)
	}
}

// readForm reads what a form sent.
func readForm(r *http.Request) error {
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return problem(http.StatusRequestEntityTooLarge, "error.large")
	}
	if err != nil {
		return problem(http.StatusBadRequest, "error.form")
	}
	return nil
}

// requireLogin requires a login: a page for a person, a header for a program.
func (c *Console) requireLogin(q *request, from route) {
	person := strings.Contains(q.r.Header.Get("Accept"), "text/html") && q.r.Header.Get("HX-Request") == ""
	switch {
	case person && q.r.Method == http.MethodGet:
		http.Redirect(q.w, q.r, "/login?back="+escapeQuery(q.r.URL.RequestURI()), http.StatusSeeOther)
		return
	case person && q.r.Method == http.MethodPost && from.pattern != "" && readForm(q.r) == nil:
		if err := q.showAgain(); err != nil {
			c.fail(q, err)
		}
		return
	}
	q.w.Header().Set("WWW-Authenticate", `Bearer realm="quando"`)
	http.Error(q.w, "Authorization: Bearer with the token of console.token is needed", http.StatusUnauthorized)
}

// metrics serves what is counted for other programs.
func (c *Console) metrics(q *request) error {
	if c.options.Metrics == nil {
		return errNotFound
	}
	c.options.Metrics.ServeHTTP(q.w, q.r)
	return nil
}
