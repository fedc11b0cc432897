package assistant

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

type proposeIn struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Rule      string `json:"rule" jsonschema:"the id of the rule that is new or changes"`
	Text      string `json:"text" jsonschema:"the whole rule file in YAML, with its tests"`
	Was       string `json:"was,omitempty" jsonschema:"was of the answer of rule; empty for a new file"`
	File      string `json:"file,omitempty" jsonschema:"the name of the file; by default that of the rule, or a new one"`
	Stage     string `json:"stage,omitempty" jsonschema:"draft (by default) or shadow"`
	Why       string `json:"why" jsonschema:"the story, for the person who decides"`
}

// proposeOut says what came of a proposal.
type proposeOut struct {
	Saved    string        `json:"saved"` // draft, shadow, or nothing
	File     string        `json:"file"`
	Was      string        `json:"was,omitempty"` // for the next proposal
	Problems []problemLine `json:"problems,omitempty"`
	Next     string        `json:"next"`
}

var ruleID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// nothing is what is saved of a proposal that only waits.
const nothing = "nothing"

// propose saves a rule as a draft or in shadow, and keeps it as a proposal for a person. A text
// that would change a live rule is only kept.
func (c *caller) propose(ctx context.Context, in proposeIn) (any, error) {
	w, err := c.space(in.Workspace)
	if err != nil {
		return nil, err
	}
	stage, err := c.stage(in.Stage)
	if err != nil {
		return nil, err
	}
	f, err := c.proposed(w, in)
	if err != nil {
		return nil, err
	}
	var out *proposeOut
	err = c.slowly(ctx, func(ctx context.Context) error {
		c.saving.Lock()
		defer c.saving.Unlock()
		out, err = c.save(ctx, w, f, in, stage)
		return err
	})
	if errors.Is(err, store.ErrChanged) {
		return nil, errors.New("the file has changed since it was read: read the rule again, and propose with its new was")
	}
	return out, err
}

// stage returns the stage at which the caller may save.
func (c *caller) stage(asked string) (rules.Stage, error) {
	switch rules.Stage(asked) {
	case "", rules.Draft:
		return rules.Draft, nil
	case rules.Shadow:
		if !c.who.Shadow {
			return "", errors.New("this token may propose drafts only, not shadow")
		}
		return rules.Shadow, nil
	case rules.Live:
		return "", errors.New("an assistant cannot make a rule live: propose it as a draft, and a person makes it live in the console")
	}
	return "", fmt.Errorf("there is no stage %q: it is draft or shadow", asked)
}

// proposed returns the file that a proposal is for, with its text.
func (c *caller) proposed(w *console.Workspace, in proposeIn) (*draft.File, error) {
	files := w.Editing.Store
	if files.ReadOnly() {
		return nil, store.ErrReadOnly
	}
	if !ruleID.MatchString(in.Rule) {
		return nil, fmt.Errorf("%q cannot be the id of a rule: small letters, digits and dashes", in.Rule)
	}
	_, f, err := c.file(textIn{Workspace: in.Workspace, Rule: in.Rule, Text: in.Text, File: in.File})
	if err != nil {
		return nil, err
	}
	if in.Text == "" {
		return nil, errors.New("text is empty: it is the whole rule file")
	}
	if f.Name == "" {
		if files.Single() {
			return nil, errors.New("all rules stand in one file here: read a rule of it, and propose the whole file")
		}
		f.Name = f.FreeName(in.Rule)
	}
	if base := strings.TrimSuffix(path.Base(f.Name), path.Ext(f.Name)); strings.HasSuffix(base, "_test") {
		return nil, errors.New("a file of tests is not proposed: write tests under tests in the file of the rule")
	}
	if kept, err := files.Kept(f.Name); err != nil || kept != nil {
		return nil, errors.Join(err, errors.New("somebody has an unfinished text of this file in the console: it has to be saved or thrown away first"))
	}
	return f, nil
}

// save checks a proposal against everything that stands, and keeps it.
func (c *caller) save(ctx context.Context, w *console.Workspace, f *draft.File, in proposeIn, stage rules.Stage) (*proposeOut, error) {
	standing, err := f.Store.Read(f.Name)
	switch {
	case err == nil && standing.Sum != in.Was, errors.Is(err, fs.ErrNotExist) && in.Was != "":
		return nil, store.ErrChanged
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	out := &proposeOut{Saved: nothing, File: f.Name, Was: in.Was}
	if err := stageNew(ctx, f, in.Rule, stage); err != nil {
		return nil, err
	}
	if out.Problems, err = c.refused(ctx, f); err != nil || len(out.Problems) > 0 {
		out.Next = "Nothing is saved, because the text has problems. Mend them, check, and propose again."
		return out, err
	}
	after, _, err := draft.Whole(ctx, f)
	if err != nil {
		return nil, err
	}
	if r := after.Rule(in.Rule); r == nil || r.File != f.Path() {
		return nil, fmt.Errorf("the text has no rule %q", in.Rule)
	}
	p := store.Proposal{Rule: in.Rule, Stage: string(stage), Text: f.Text, Was: in.Was, Who: c.author(), Why: words.Cut(in.Why, 500)}
	subject := w.Name + "/" + f.Name
	if !c.touchesInUse(f, after) {
		if err := c.audit(ctx, "save."+string(stage), subject, in.Why); err != nil {
			return nil, err
		}
		version, err := f.Store.Save(f.Name, f.Text, in.Was, store.Change{Who: c.author(), What: string(stage), Why: p.Why})
		if err != nil {
			return nil, err
		}
		p.Saved, p.Was, out.Saved, out.Was = true, version.Sum, string(stage), version.Sum
		if w.Editing.Reload != nil {
			if err := w.Editing.Reload(); err != nil {
				c.options.Logger.Error("a rule that was proposed could not be loaded at once", "workspace", w.Name, "error", err) // the file watcher retries
			}
		}
	}
	if err := f.Store.Propose(f.Name, p); err != nil {
		return nil, err
	}
	out.Next = "It waits for a person, who makes it live or declines it in the console under Proposals."
	if !p.Saved {
		out.Next = "Rules that are in use stay as they are. " + out.Next
	}
	return out, nil
}

// refused returns the problems that saving a text would add.
func (*caller) refused(ctx context.Context, f *draft.File) ([]problemLine, error) {
	wrong, err := draft.NewProblems(ctx, f)
	if err != nil || len(wrong) == 0 {
		return nil, err
	}
	return problemLines(wrong), nil
}

// stageNew puts the rule of a proposal at a stage, and with it all rules of the file that would act
// and are not acting already: a rule without a stage is live.
func stageNew(ctx context.Context, f *draft.File, rule string, stage rules.Stage) error {
	set, _, err := draft.Whole(ctx, f)
	if err != nil {
		return err
	}
	standing := f.Used()
	for _, r := range set.Rules {
		old := standing.Rule(r.ID)
		acts := old != nil && old.Stage == rules.Live
		if r.File != f.Path() || r.ID != rule && (r.Stage == rules.Draft || acts) {
			continue
		}
		if f.Text, err = f.WithStage(r.ID, stage); err != nil {
			return fmt.Errorf("the stage of the rule %s cannot be written: %w", r.ID, err)
		}
	}
	return nil
}

// touchesInUse reports whether saving a text could change what is in use: its file has a live or a
// broken rule, or a live rule elsewhere would be another one, as with a calendar that it asks. A
// rule in shadow counts like a live one for a caller who may not save in shadow.
func (c *caller) touchesInUse(f *draft.File, after *rules.Set) bool {
	before := f.Used()
	if slices.ContainsFunc(before.Broken, func(b rules.Broken) bool { return b.File == f.Path() }) {
		return true
	}
	for _, r := range before.Rules {
		if r.Stage == rules.Draft || r.Stage == rules.Shadow && c.who.Shadow {
			continue
		}
		now := after.Rule(r.ID)
		if r.File == f.Path() || now == nil || now.Stage != r.Stage || now.Source() != r.Source() {
			return true
		}
	}
	return slices.ContainsFunc(after.Rules, func(r *rules.Rule) bool {
		old := before.Rule(r.ID)
		return r.Stage == rules.Live && (old == nil || old.Stage != rules.Live)
	})
}
