package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/quandohq/quando/rules"
)

// versions keeps rules as they were when runs began with them.
type versions struct {
	mu    sync.Mutex
	rules map[string]*rules.Rule // by workspace and version; nil where one cannot be read
}

// most bounds how many versions are kept in memory: they come back from the journal.
const mostVersions = 1000

// ruleOf returns the rule of a run, in the version that the run began with. It is nil where that cannot be read any more.
func (v *visit) ruleOf(ctx context.Context, r *Run) (*rules.Rule, error) {
	if rule := v.workspace.rules.Load().Rule(r.Rule); rule != nil && rule.Version == r.Version {
		return rule, nil
	}
	c := &v.engine.versions
	c.mu.Lock()
	defer c.mu.Unlock()
	name := r.Workspace + "/" + r.Version
	if rule, ok := c.rules[name]; ok {
		return rule, nil
	}
	source, err := v.engine.journal.Version(ctx, r.Version)
	if err != nil {
		return nil, fmt.Errorf("read the version of rule %s: %w", r.Rule, err)
	}
	rule, err := v.workspace.compile(r.Rule, source)
	if err != nil {
		v.engine.log.Error("the version of a rule that a run began with cannot be used", "workspace", r.Workspace, "rule", r.Rule, "error", err)
	}
	if c.rules == nil || len(c.rules) >= mostVersions {
		c.rules = make(map[string]*rules.Rule)
	}
	c.rules[name] = rule
	return rule, nil
}

// compile reads a rule that was recorded.
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
