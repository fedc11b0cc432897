package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// A workspaceDoctor runs the checks of one workspace.
type workspaceDoctor struct {
	*doctor
	config.NamedWorkspace
	config  *config.Config
	journal storage.Journal // nil when there is none
	unit    *process.Unit
	client  *service.Client
	set     *rules.Set
}

// open makes a client with short timeouts. It makes no calls.
func (v *workspaceDoctor) open() (err error) {
	w := *v.Workspace
	w.Service.Timeout = min(w.Service.Timeout, patience)
	quick := v.NamedWorkspace
	quick.Workspace = &w
	none := func(context.Context, string, service.Message) (bool, error) { return false, nil }
	if v.unit, err = process.NewUnit(v.config, quick, nil, none, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	v.client = v.unit.Client
	b := v.book()
	if r, err := b.Read(); err == nil { // files reports problems of the files
		v.set, _ = b.Compile(r)
	}
	return nil
}

// book is the workspace's rules as they stand in their files.
func (v *workspaceDoctor) book() *process.Book {
	return &process.Book{Workspace: v.Name, Path: v.RulesPath, Except: v.Except, Options: rules.Options{Catalog: v.unit.Catalog, ReadFile: config.ReadBeside, People: v.unit.People.Names()}}
}

func (v *workspaceDoctor) found(check string, status checkState, mend, format string, args ...any) {
	v.add(check, v.Name, status, mend, format, args...)
}

// service checks what the service reports.
func (v *workspaceDoctor) service(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	asked := cli.Now()
	me, err := v.client.Me(ctx)
	why := "the service does not take the key"
	switch refused, ok := errors.AsType[*service.Error](err); {
	case ok && refused.Status == http.StatusTooManyRequests:
		why = "the service asks for a pause"
		v.found("key", warning, "try again in a moment", "%s: %v", why, err)
	case ok && refused.Status == http.StatusUnauthorized:
		v.found("key", failing, "put the key of a live integration into service.api_key; an expired or revoked one is made anew where the service's integrations are managed", "the service refuses the key: it is wrong, expired or revoked (401)")
	case ok && refused.Status != 0:
		v.found("key", failing, "check service.base_url, with its version segment; and look whether the service is well", "%s answers, but not as it should: %v", shownURL(v.Service.BaseURL), err)
	case err != nil:
		v.found("key", failing, "check service.base_url, this machine's network, its DNS and any proxy; then try again", "the service at %s cannot be reached: %v", shownURL(v.Service.BaseURL), err)
	default:
		v.found("key", well, "", "the service takes it%s", named(me.Name))
		v.scopes(ctx, me)
		v.clock(me, asked)
		v.alertChannels(ctx)
		v.webhook(ctx)
		return
	}
	for _, check := range []string{"scopes", "clock", "webhook"} {
		v.found(check, warning, "", "not looked at, because %s", why)
	}
	v.address(ctx, v.Service.Webhook.PublicURL, false)
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (integration %q)", name)
}

// scopes compares what the key may do with what the rules need.
func (v *workspaceDoctor) scopes(ctx context.Context, me service.Identity) {
	needed, users := v.needed()
	has := func(scope string) (yes, known bool) { return slices.Contains(me.Scopes, scope), true }
	if len(me.Scopes) == 0 {
		has = func(scope string) (yes, known bool) { return v.probe(ctx, scope) }
	}
	var missing, wanted, unknown []string
	for _, scope := range slices.Sorted(maps.Keys(users)) {
		yes, known := has(scope)
		switch {
		case !known:
			unknown = append(unknown, scope)
		case !yes && needed[scope]:
			missing = append(missing, fmt.Sprintf("%s (%s)", scope, strings.Join(users[scope], ", ")))
		case !yes:
			wanted = append(wanted, scope)
		}
	}
	if len(missing) > 0 {
		v.found("scopes", failing, "give the key these scopes where the service's integrations are managed, or use a key that has them", "the key lacks what is needed: %s", strings.Join(missing, "; "))
	}
	if len(wanted) > 0 {
		v.found("scopes", warning, "give the key these scopes too", "the key lacks %s, with which facts and names are read that an event may not carry", strings.Join(wanted, ", "))
	}
	if len(unknown) > 0 {
		v.found("scopes", warning, "compare with what the key was made with: "+strings.Join(unknown, ", "), "the service does not tell which scopes the key has, and these cannot be tried without changing something")
	}
	if len(missing)+len(wanted)+len(unknown) == 0 {
		v.found("scopes", well, "", "the key has all %d that are needed", len(users))
	}
}

// manageScope is the scope to manage a webhook.
const manageScope = "webhooks:manage"

// needed returns the scopes that rules declare, those without which a call is refused, and the
// rules that use each. The webhook needs one if the engine manages it.
func (v *workspaceDoctor) needed() (calls map[string]bool, users map[string][]string) {
	calls, users = map[string]bool{}, map[string][]string{}
	if v.publicURL() != "" {
		calls[manageScope], users[manageScope] = true, []string{"service.webhook.public_url"}
	}
	for _, person := range v.config.Alerts.People {
		if workspace, _, _ := v.config.Alerted(person); workspace == v.Name {
			for _, scope := range []string{"conversations:read", "conversations:write", "messages:send"} {
				calls[scope], users[scope] = true, []string{"alerts.people"}
			}
		}
	}
	if v.set == nil {
		return calls, users
	}
	for _, r := range v.set.Rules {
		if r.Stage == rules.Draft {
			continue
		}
		for _, scope := range r.Scopes {
			calls[scope] = true
		}
		all := slices.Concat(r.Scopes, r.Reads)
		slices.Sort(all)
		for _, scope := range slices.Compact(all) {
			users[scope] = append(users[scope], r.ID)
		}
	}
	return calls, users
}

// probe finds out by a read whether the key has a scope. It does not try calls that only change
// something.
func (v *workspaceDoctor) probe(ctx context.Context, scope string) (yes, known bool) {
	const nobody = "00000000-0000-4000-8000-000000000000"
	var err error
	switch scope {
	case "conversations:read":
		_, err = v.client.ListChannels(ctx)
	case "contacts:read":
		_, err = v.client.ListLabels(ctx)
	case "messages:read":
		_, err = v.client.GetMessage(ctx, nobody)
	case "attendances:read":
		_, err = v.client.GetAttendance(ctx, nobody)
	case "team:read":
		_, err = v.client.ListTeam(ctx)
	case manageScope:
		_, err = v.client.ListWebhooks(ctx)
	case "read":
		_, err = v.client.ListBoards(ctx, false)
	default:
		return false, false
	}
	refused, ok := errors.AsType[*service.Error](err)
	return !ok || refused.Status != http.StatusForbidden, !ok || refused.Status != 0
}

// clock compares this machine's clock with the service's.
func (v *workspaceDoctor) clock(me service.Identity, asked time.Time) {
	if me.ServedAt.IsZero() {
		v.found("clock", warning, "", "the service does not tell its time")
		return
	}
	off := asked.Sub(me.ServedAt).Round(time.Second) // the service sends whole seconds
	if took := cli.Now().Sub(asked); off.Abs() <= process.MaxClockSkew+took {
		v.found("clock", well, "", "it agrees with the service's within %s", max(off.Abs(), time.Second))
		return
	}
	which := "ahead of"
	if off < 0 {
		which = "behind"
	}
	v.found("clock", failing, "set the clock, best by a time service: timedatectl set-ntp true, or chrony", "this machine's clock is %s %s the service's: schedules tick at the wrong time, and over five minutes every delivery is refused", off.Abs(), which)
}

// publicURL is where the service delivers to.
func (v *workspaceDoctor) publicURL() string { return v.Service.Webhook.PublicURL }

// webhook checks the subscription, its deliveries, and its address.
func (v *workspaceDoctor) webhook(ctx context.Context) {
	hooks, err := v.client.ListWebhooks(ctx)
	if err != nil {
		mend := "try again in a moment; look whether the service is well"
		if refused, ok := errors.AsType[*service.Error](err); ok && refused.Status == http.StatusForbidden {
			mend = "give the key the scope " + manageScope + ", so that it can be seen"
		}
		v.found("webhook", warning, mend, "the webhook cannot be looked at: %v", err)
		v.address(ctx, v.publicURL(), false)
		return
	}
	hook, several := v.ours(hooks)
	switch {
	case hook == nil && several:
		v.found("webhook", warning, "set service.webhook.public_url", "the service has %d webhooks, and nothing says which of them leads here", len(hooks))
		return
	case hook == nil:
		v.found("webhook", failing, "register it: quando webhook register, with service.webhook.public_url set", "the service has no webhook that leads here, so that no event comes")
		v.address(ctx, v.publicURL(), false)
		return
	case !hook.Active:
		v.found("webhook", failing, "see to it that its address answers, then activate it: quando run does that with service.webhook.public_url set, or the console's health page", "the webhook %s is switched off, as the service does after ten failures: no event comes", shownURL(hook.URL))
	default:
		v.subscribed(ctx, hook)
	}
	v.deliveries(ctx, hook)
}

// ours returns the webhook of this engine. Without a configured address, it is the only one.
func (v *workspaceDoctor) ours(hooks []service.Webhook) (hook *service.Webhook, several bool) {
	for i, h := range hooks {
		if same := strings.TrimRight(h.URL, "/") == strings.TrimRight(v.publicURL(), "/"); same && (hook == nil || h.Active) {
			hook = &hooks[i]
		}
	}
	if hook == nil && v.publicURL() == "" && len(hooks) == 1 {
		return &hooks[0], false
	}
	return hook, v.publicURL() == "" && len(hooks) > 1
}

// subscribed compares the events of a webhook with those that rules wait for.
func (v *workspaceDoctor) subscribed(ctx context.Context, hook *service.Webhook) {
	available, err := v.client.ListEvents(ctx)
	if err != nil {
		available = nil // then all that is missing is reported
	}
	var missing []string
	for _, name := range v.events() {
		if !slices.Contains(hook.Events, name) && (available == nil || slices.Contains(available, name)) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		v.found("webhook", failing, "subscribe them: quando webhook register", "the webhook does not deliver %s, which rules wait for", strings.Join(missing, ", "))
		return
	}
	v.found("webhook", well, "", "%s is active", shownURL(hook.URL))
}

// events are the service's events that start rules, or end runs of them.
func (v *workspaceDoctor) events() []string {
	wanted := map[string]bool{}
	if v.set != nil {
		for _, r := range v.set.Rules {
			for _, name := range r.When.Events {
				wanted[name] = r.Stage != rules.Draft || wanted[name]
			}
			for _, m := range r.CancelOn {
				wanted[m.Event] = r.Stage != rules.Draft || wanted[m.Event]
			}
		}
	}
	var list []string
	for _, name := range vocabulary.EventTypes() {
		if wanted[name] {
			list = append(list, name)
		}
	}
	return list
}

// address checks whether the address is reachable, and whether it is ours. It may be unreachable
// from this machine although the service reaches it.
func (v *workspaceDoctor) address(ctx context.Context, where string, delivered bool) (reached bool) {
	if where == "" {
		if !v.has("address", v.Name) {
			v.found("address", warning, "set service.webhook.public_url", "the address at which the service is to deliver is not configured")
		}
		return false
	}
	why, mend := v.visit(ctx, where)
	where = shownURL(where)
	switch {
	case why == "":
		v.found("address", well, "", "%s is reached", where)
		return true
	case delivered:
		v.found("address", warning, "", "from here it is not reached, while the service delivers to it: %s", why)
	default:
		v.found("address", failing, mend, "%s: %s", where, why)
	}
	return false
}

// shownURL is an address without a password.
func shownURL(where string) string {
	if u, err := url.Parse(where); err == nil {
		return u.Redacted()
	}
	return where
}

// visit makes a harmless request to an address, and says why it is not an engine's.
func (v *workspaceDoctor) visit(ctx context.Context, where string) (why, mend string) {
	ctx, cancel := patiently(context.WithoutCancel(ctx)) // a slow service does not matter here
	defer cancel()
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return "it is no address", "set service.webhook.public_url to https://host/webhook"
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "the service delivers to https addresses only", "set service.webhook.public_url to an address that begins with https://"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return "it is no address", "set service.webhook.public_url to https://host/webhook"
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return fmt.Sprintf("it cannot be reached: %v", err), "see to it that quando run is running, that its name leads to this machine, that its certificate is valid, and that firewalls and proxies let https through to listen"
	}
	_ = res.Body.Close() // only the header is read
	switch {
	case res.StatusCode == http.StatusMethodNotAllowed:
		return "", ""
	case res.StatusCode/100 == 3:
		return "it leads on to another address, which the service does not follow", "set service.webhook.public_url to the address that it leads to"
	case res.StatusCode >= 500:
		return fmt.Sprintf("what stands before the engine answers %d", res.StatusCode), "see to it that quando run is running, and that the proxy leads to its listen address"
	}
	return fmt.Sprintf("something answers %d, but it is not the webhook of an engine", res.StatusCode), "let it end in /webhook, or for another workspace in /webhook/NAME, and lead there"
}
