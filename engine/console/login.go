package console

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/quandohq/quando/engine/console/internal/session"
	"github.com/quandohq/quando/engine/console/internal/words"
)

// loginPage is what the page of the login shows.
type loginPage struct {
	Back  string
	Users bool // there are users, and not only a token
	Wrong string
	Name  string
}

// login shows the login page.
func (c *Console) login(q *request) error {
	if q.user != nil {
		http.Redirect(q.w, q.r, localPath(q.r.URL.Query().Get("back")), http.StatusSeeOther)
		return nil
	}
	return q.show("login", "", q.words().T("login.title"), loginPage{Back: localPath(q.r.URL.Query().Get("back")), Users: len(c.gate.Users) > 0})
}

// loginSent starts a session if the password or token is right.
func (c *Console) loginSent(q *request) error {
	name, password, from := q.r.PostFormValue("name"), q.r.PostFormValue("password"), q.from()
	again := func(status int, why string) error {
		return q.showAs(status, "login", "", q.words().T("login.title"), loginPage{Back: localPath(q.r.PostFormValue("back")), Users: len(c.gate.Users) > 0, Wrong: why, Name: name})
	}
	who := "token"
	var role Role
	var refused bool
	if name == "" {
		role, refused = c.gate.TryToken(from, password, c.log)
	} else {
		who = name
		role, refused = c.gate.TryPassword(q.ctx(), from, name, password, c.log)
	}
	switch {
	case refused:
		return again(http.StatusTooManyRequests, q.words().T("login.later"))
	case role == Nobody:
		return again(http.StatusUnauthorized, q.words().T("login.wrong"))
	}
	c.gate.Enter(q.w, q.r, who, role)
	return q.back("")
}

// againPage holds a form sent after the session had ended, so that no input is lost.
type againPage struct {
	Action string
	Fields []struct{ Name, Value string }
}

// showAgain shows how to send a form again after a login.
func (q *request) showAgain() error {
	p := againPage{Action: q.r.URL.RequestURI()}
	for _, name := range slices.Sorted(maps.Keys(q.r.PostForm)) {
		for _, value := range q.r.PostForm[name] {
			p.Fields = append(p.Fields, struct{ Name, Value string }{name, value})
		}
	}
	return q.showAs(http.StatusUnauthorized, "again", "", q.words().T("again.title"), p)
}

// logout ends the session.
func (c *Console) logout(q *request) error {
	c.gate.Leave(q.w, q.r)
	http.Redirect(q.w, q.r, "/login", http.StatusSeeOther)
	return nil
}

// language changes the language of the pages.
func (c *Console) language(q *request) error {
	to := q.r.PostFormValue("to")
	if c.templates[to] == nil {
		return problem(http.StatusBadRequest, "error.form")
	}
	http.SetCookie(q.w, &http.Cookie{
		Name: words.Cookie, Value: to, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.gate.Secure(q.r), MaxAge: 365 * 24 * 3600,
	})
	return q.back("")
}

// from is the client address of a request.
func (q *request) from() string { return q.console.gate.From(q.r) }

type (
	// Access says who may use the console. On a loopback address a login is required only if there is
	// a token or a user; on any other address there must be one.
	Access = session.Access
	// A User is a user of the console.
	User = session.User
	// A Role is a set of permissions. Each includes those before it.
	Role = session.Role

	// An Assistant is an assistant whose token was checked.
	Assistant = session.Assistant

	// An AssistantToken is the token of an assistant.
	AssistantToken = session.AssistantToken
)

// The roles.
const (
	Nobody   = session.Nobody
	Viewer   = session.Viewer   // reads
	Editor   = session.Editor   // writes rules
	Operator = session.Operator // places and lifts holds, retries, cancels and resolves runs
)

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) { return session.ParseRole(name) }

// IsLoopback reports whether an address to listen on can only be reached from this machine.
func IsLoopback(address string) bool { return session.IsLoopback(address) }

// HashPassword returns what is written into the configuration for a password.
func HashPassword(password string) (string, error) { return session.HashPassword(password) }

// CheckHash refuses what is no hash of a password, without telling what it is.
func CheckHash(text string) error { return session.CheckHash(text) }

// SumToken returns the hash of an assistant's token; one that begins with sha256: is a hash
// already.
func SumToken(token string) ([32]byte, error) { return session.SumToken(token) }

// assistant lets an assistant in that has a token of its own; those of people do not count here.
func (c *Console) assistant(w http.ResponseWriter, r *http.Request) {
	who, refused := c.gate.IdentifyAssistant(r, c.log)
	switch {
	case c.options.Assistants == nil || len(c.gate.Assistants) == 0:
		http.Error(w, "no assistant has a token: mcp.tokens of the configuration gives one", http.StatusNotFound)
	case refused:
		w.Header().Set("Retry-After", strconv.FormatInt(60-c.now().Unix()%60, 10))
		http.Error(w, "there were too many wrong tokens from your address: try again in a minute", http.StatusTooManyRequests)
	case who == nil:
		w.Header().Set("WWW-Authenticate", `Bearer realm="quando"`)
		http.Error(w, "Authorization: Bearer with a token of mcp.tokens is needed", http.StatusUnauthorized)
	default:
		c.options.Assistants(w, r, *who)
	}
}
