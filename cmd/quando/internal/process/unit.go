package process

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook/subscription"
)

// A Unit is what one workspace is run with.
type Unit struct {
	config.NamedWorkspace
	Client  *service.Client
	names   *service.Directory
	actions *actions.Registry
	desk    *builtin.Desk
	Catalog *rules.Catalog

	subscription *subscription.Subscription // nil if the webhook is not managed
	delivered    atomic.Bool                // a delivery was accepted
}

// NewUnit builds a workspace. It makes no calls.
func NewUnit(c *config.Config, w config.NamedWorkspace, limiter *service.Limiter, own func(ctx context.Context, workspace string, m service.Message) (bool, error), log *slog.Logger) (*Unit, error) {
	o, err := c.ServiceOptions(w.Workspace)
	if err != nil {
		return nil, err
	}
	// The engine waits out a pause: it must read its facts again afterwards.
	o.MaxWait, o.Limiter, o.Logger, o.Allow = -1, limiter, log.With("workspace", w.Name), actions.MayCall
	u := &Unit{NamedWorkspace: w}
	if u.Client, err = w.NewClient(o); err != nil {
		return nil, err
	}
	u.names = service.NewDirectory(u.Client)
	with := builtin.Options{
		Client: u.Client, Directory: u.names, Media: config.MediaFolder(config.MediaPath(w.RulesPath)), People: w.People, Location: w.Timezone, Outside: c.Outside,
		Own: func(ctx context.Context, m service.Message) (bool, error) { return own(ctx, w.Name, m) },
	}
	if with.HTTP, err = systems(w.Workspace); err != nil {
		return nil, err
	}
	verbs, err := builtin.New(with)
	if err != nil {
		return nil, err
	}
	if u.actions, err = actions.NewRegistry(verbs...); err != nil {
		return nil, err
	}
	if u.Catalog, err = u.actions.Catalog(); err != nil {
		return nil, err
	}
	u.desk, err = builtin.NewDesk(with)
	return u, err
}

// systems returns the other systems that rules may call.
func systems(w *config.Workspace) ([]builtin.HTTPHost, error) {
	left := maps.Clone(w.HTTPRequest.Headers)
	var hosts []builtin.HTTPHost
	if w.HTTPRequest.Allow != nil {
		hosts = []builtin.HTTPHost{} // an empty list allows none
	}
	for _, name := range w.HTTPRequest.Allow {
		host := builtin.HTTPHost{Host: name, Headers: make(map[string]string), PlainHTTP: w.HTTPRequest.PlainHTTP}
		for header, value := range left[strings.ToLower(name)] {
			host.Headers[header] = string(value)
		}
		delete(left, strings.ToLower(name))
		hosts = append(hosts, host)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		return nil, fmt.Errorf("http_request.headers names %s, which rules may not call: add it to http_request.allow, written in the same way", name)
	}
	return hosts, nil
}

// engineWorkspace returns the workspace as the engine sees it.
func (u *Unit) engineWorkspace() engine.Workspace {
	return engine.Workspace{
		Name: u.Name, Actions: u.actions, Desk: u.desk, Location: u.Timezone, Timeout: u.Service.Timeout, Ahead: u.Client.Ahead,
		Safety: engine.Safety{PerConversation: u.Safety.MessagesPerConversation, Messages: u.Safety.Messages, Internal: u.desk.InternalChats(u.Safety.Internal)},
	}
}

// limiters returns the limiter of each workspace. The service counts by key, so those with the same
// one share theirs; of their ceilings the lowest counts.
func limiters(list []config.NamedWorkspace) map[string]*service.Limiter {
	type account struct{ url, key string }
	of := func(w config.NamedWorkspace) account { return account{w.Service.BaseURL, string(w.Service.APIKey)} }
	rates := make(map[account]float64)
	for _, w := range list {
		if rate := w.Service.Rate; rate > 0 && (rates[of(w)] == 0 || rate < rates[of(w)]) {
			rates[of(w)] = rate
		}
	}
	shared := make(map[account]*service.Limiter)
	out := make(map[string]*service.Limiter)
	for _, w := range list {
		if shared[of(w)] == nil {
			shared[of(w)] = service.NewLimiter(rates[of(w)])
		}
		out[w.Name] = shared[of(w)]
	}
	return out
}

// MaxClockSkew is the difference to the service's clock that is reported: at five minutes, no
// delivery is accepted.
const MaxClockSkew = time.Minute

// checkClock compares the clock with the service's, and says what it finds. That the service does
// not answer is no reason not to start.
func (u *Unit) checkClock(ctx context.Context, log *slog.Logger) {
	me, err := u.Client.Me(ctx)
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("the service does not answer as it should; the engine starts all the same", "workspace", u.Name, "error", err)
		}
		return
	}
	if me.ServedAt.IsZero() {
		return
	}
	if off := time.Since(me.ServedAt).Round(time.Second); off.Abs() > MaxClockSkew {
		log.Warn("this machine's clock and the service's disagree; deliveries over five minutes off are refused, and schedules tick by this one", "workspace", u.Name, "ahead", off.String())
	}
}
