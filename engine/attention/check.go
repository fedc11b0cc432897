package attention

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
)

// A Check is one check of something that the engine depends on.
type Check struct {
	Workspace string
	Kind      CheckKind
	OK        bool
	Detail    string // in words, without secrets

	Mends    bool      // there is a button for it
	Version  string    // of the service's API, if known
	Scopes   []string  // of a key, if known
	Delivery string    // of a webhook: the result of the latest delivery; may be empty
	At       time.Time // when that was or, for a subscription, when it was last checked

	Events  string // of a subscription: what is subscribed to
	Missing string // what the rules need and cannot be subscribed to
	Idle    bool   // the rules need no event that can be subscribed to
}

// A CheckKind is a kind of check.
type CheckKind string

// The kinds of checks.
const (
	CheckService      CheckKind = "service"      // that it answers
	CheckKey          CheckKind = "key"          // that it takes the key, with which scopes
	CheckClock        CheckKind = "clock"        // that ours and the service's agree
	CheckWebhook      CheckKind = "webhook"      // that it is active
	CheckSubscription CheckKind = "subscription" // that the webhook's subscription is managed
	CheckJournal      CheckKind = "journal"      // that it can be written
	CheckSends        CheckKind = "sends"        // that calls with an effect are answered; known from real calls
	CheckReads        CheckKind = "reads"        // the same of calls that read
	CheckOthers       CheckKind = "others"       // the same of calls to other systems
	CheckScopes       CheckKind = "scopes"       // that the key has those that rules need; known from CheckKey
)

// A Scope is one that rules need, or that reads what events may not carry.
type Scope struct {
	Workspace, Scope string
	Has              bool
	Needed           bool     // without it a call is refused; else facts and names may be missing
	Rules            []string // by their ids
}

// Scopes returns the scopes that rules need, if the scopes of the key are known. Drafts need none.
func (f *Finder) Scopes(found []Check) (list []Scope) {
	for _, one := range found {
		i := slices.IndexFunc(f.Workspaces, func(w Workspace) bool { return w.Name == one.Workspace })
		if one.Kind != CheckKey || len(one.Scopes) == 0 || i < 0 {
			continue
		}
		needed, users := map[string]bool{}, map[string][]string{}
		for _, r := range f.Workspaces[i].Rules().Rules {
			if r.Stage == rules.Draft {
				continue
			}
			all := slices.Concat(r.Scopes, r.Reads)
			slices.Sort(all)
			for _, scope := range slices.Compact(all) {
				users[scope] = append(users[scope], r.ID)
				needed[scope] = needed[scope] || slices.Contains(r.Scopes, scope)
			}
		}
		for _, scope := range slices.Sorted(maps.Keys(users)) {
			list = append(list, Scope{Workspace: one.Workspace, Scope: scope, Has: slices.Contains(one.Scopes, scope), Needed: needed[scope], Rules: users[scope]})
		}
	}
	return list
}

// WithScopes returns results of checks, and what they mean for the rules.
func (f *Finder) WithScopes(found []Check) []Check {
	found = slices.Clone(found)
	missing := map[string][]string{}
	for _, s := range f.Scopes(found) {
		if s.Needed && !s.Has {
			missing[s.Workspace] = append(missing[s.Workspace], s.Scope)
		}
	}
	for _, w := range f.Workspaces {
		if list := missing[w.Name]; len(list) > 0 {
			found = append(found, Check{Workspace: w.Name, Kind: CheckScopes, Detail: strings.Join(list, ", ")})
		}
	}
	return found
}

// unwell lists the checks that found something wrong.
func (f *Finder) unwell(ctx context.Context, now time.Time) (list []Item) {
	if f.Checks == nil {
		return nil
	}
	for _, one := range f.WithScopes(f.Checks(ctx, now)) {
		if !one.OK {
			list = append(list, unwellItem(one))
		}
	}
	return list
}

func unwellItem(one Check) Item {
	return Item{Kind: Unwell, Key: "check " + one.Workspace + " " + string(one.Kind), Workspace: one.Workspace, Check: &one}
}

// NoJournal is the item that nothing can be recorded, for when the journal itself cannot be read.
func NoJournal() Item { return unwellItem(Check{Kind: CheckJournal}) }
