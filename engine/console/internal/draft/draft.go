// Package draft checks the text of a rule file that is being written, together with the files that
// stand beside it.
package draft

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/store"
)

// A Place is where rule files of a workspace are written.
type Place struct {
	Store *store.Store
	Files func() ([]*rules.File, error) // reads them, as in the loader
	Rules rules.Options                 // to compile them with
	Used  func() *rules.Set             // the rules as they stand
}

// FreeName returns a name for the file of a new rule.
func (p *Place) FreeName(id string) string {
	for i := 1; ; i++ {
		name := id + ".yaml"
		if i > 1 {
			name = id + "-" + strconv.Itoa(i) + ".yaml"
		}
		if _, err := p.Store.Read(name); err != nil && !errors.Is(err, store.ErrName) { // as quando.yaml, which is the configuration's
			return name
		}
	}
}

// A File is a rule file with the text that it is to have.
type File struct {
	Place
	Name string // in the store; empty if not chosen yet
	Text string
}

// Path is the path of the file, or of the future file, as in the loader.
func (f *File) Path() string {
	name := f.Name
	if name == "" {
		name = "new.yaml"
	}
	return f.Store.Path(name)
}

// Check returns the problems of the text, by itself and with the other files.
func (f *File) Check(ctx context.Context) (*rules.Set, rules.Problems, error) {
	others, err := others([]*File{f})
	if err != nil {
		return nil, nil, err
	}
	parsed := rules.Parse(f.Path(), []byte(f.Text))
	set, problems, err := editor.Check(ctx, parsed, others, f.Rules)
	if err != nil {
		return nil, nil, err
	}
	return set, append(problems, f.duplicateIDs(set)...).Sort(), nil
}

// others returns the files besides some of one place.
func others(files []*File) ([]*rules.File, error) {
	all, err := files[0].Files()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *rules.File) bool { return isOneOf(files, o.Name) }), nil
}

func isOneOf(files []*File, path string) bool {
	return slices.ContainsFunc(files, func(f *File) bool { return f.Path() == path })
}

// duplicateIDs reports rules whose ids other files have.
func (f *File) duplicateIDs(set *rules.Set) (problems rules.Problems) {
	standing := f.Used()
	for _, r := range set.Rules {
		if other := standing.Rule(r.ID); other != nil && other.File != f.Path() {
			problems = append(problems, r.Problem(source.Error, phrases.Sprintf("the rule %q stands in another file too", r.ID), phrases.Sprintf("choose another id")))
		}
	}
	return problems
}

// Whole compiles the texts of files of one place with all other files, their rules and tests
// included, and returns every problem there is.
func Whole(ctx context.Context, files ...*File) (*rules.Set, rules.Problems, error) {
	list, err := others(files)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		list = append(list, rules.Parse(f.Path(), []byte(f.Text)))
	}
	return rules.CompileContext(ctx, list, files[0].Rules)
}

// NewProblems returns the problems that saving files of one place would add: their own errors, and
// those that they cause in others.
func NewProblems(ctx context.Context, files ...*File) (rules.Problems, error) {
	all, err := files[0].Files()
	if err != nil {
		return nil, err
	}
	_, now, err := rules.CompileContext(ctx, all, files[0].Rules)
	if err != nil {
		return nil, err
	}
	_, then, err := Whole(ctx, files...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(then, func(p rules.Problem) bool {
		return p.Severity != source.Error || !isOneOf(files, p.File) && slices.ContainsFunc(now, p.Equal)
	}), nil
}

// WithStage returns the text with a rule at a stage.
func (f *File) WithStage(rule string, stage rules.Stage) (string, error) {
	fields, err := form.Read(f.Rules.Catalog, []byte(f.Text), rule)
	if err != nil {
		return "", err
	}
	now := fields.Stage
	if now == "" {
		now = string(rules.Live)
	}
	if now == string(stage) {
		return f.Text, nil
	}
	fields.Stage = string(stage)
	text, err := form.Write(f.Rules.Catalog, []byte(f.Text), rule, fields)
	return string(text), err
}
