package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// versions caches rules in the versions that runs began with.
type versions struct {
	mu   sync.Mutex
	list map[string]*version // by workspace and version
}

// A version is a rule as it was. Its lock is held while the rule is read and compiled, so that only
// runs of the same version wait for this.
type version struct {
	mu    sync.Mutex
	known bool
	rule  *rules.Rule // nil if it cannot be read
}

// maxVersions bounds the cache. A dropped version is read from the journal again.
const maxVersions = 1000

// of returns the version of a workspace by its hash.
func (c *versions) of(workspace, hash string) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := workspace + "/" + hash
	if v := c.list[name]; v != nil {
		return v
	}
	if c.list == nil || len(c.list) >= maxVersions {
		c.list = make(map[string]*version)
	}
	v := &version{}
	c.list[name] = v
	return v
}

// ruleOf returns the rule of a run, in the version that the run began with. It is nil if that
// version can no longer be read.
func (l *laneState) ruleOf(ctx context.Context, r *journal.Run) (*rules.Rule, error) {
	if rule := l.workspace.rules.Load().Rule(r.Rule); rule != nil && rule.Version == r.Version {
		return rule, nil
	}
	was := l.engine.versions.of(r.Workspace, r.Version)
	was.mu.Lock()
	defer was.mu.Unlock()
	if was.known {
		return was.rule, nil
	}
	source, err := l.engine.journal.Version(ctx, r.Version)
	if err != nil {
		return nil, fmt.Errorf("read the version of rule %s: %w", r.Rule, err)
	}
	rule, err := l.workspace.compile(r.Rule, source)
	if err != nil {
		l.engine.log.Error("the version of a rule that a run began with cannot be used: end the run with quando runs cancel", "workspace", r.Workspace, "rule", r.Rule, "run", r.ID, "error", err)
	}
	was.rule, was.known = rule, true
	return rule, nil
}

// compile compiles the recorded source of a rule.
func (w *workspace) compile(id, source string) (*rules.Rule, error) {
	catalog, err := w.Actions.Catalog()
	if err != nil {
		return nil, err
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse(id+".yaml", []byte(source))}, rules.Options{Catalog: catalog})
	if rule := set.Rule(id); rule != nil {
		return rule, nil
	}
	return nil, problems.Err()
}
