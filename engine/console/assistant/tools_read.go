package assistant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/docs"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/rules"
)

// languageIn asks for a section of the reference.
type languageIn struct {
	Section string `json:"section,omitempty" jsonschema:"the title of a section, as the list of sections has it"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next of the answer before, for the rest of a long section"`
}

// A section is a part of the reference.
type section struct{ title, text string }

// sections are the parts of the reference, those about tests behind those about rules.
var sections = append(split("", docs.Language), split("Tests: ", docs.Testing)...)

// split takes a document apart at its headings of the second level.
func split(prefix, document string) (list []section) {
	for i, part := range strings.Split("\n"+document, "\n## ") {
		title, text, _ := strings.Cut(part, "\n")
		if i == 0 {
			title, text = "Overview", part
		}
		list = append(list, section{prefix + strings.TrimSpace(title), strings.TrimSpace(text)})
	}
	return list
}

// sectionBytes is how much of a section one answer has.
const sectionBytes = 12 << 10

func (*caller) language(_ context.Context, in languageIn) (any, error) {
	type answer struct {
		Sections []string `json:"sections,omitempty"`
		Text     string   `json:"text,omitempty"`
		Next     string   `json:"next,omitempty"`
	}
	var titles []string
	for _, s := range sections {
		if strings.EqualFold(s.title, in.Section) {
			lines, next, err := page(chunks(s.text, sectionBytes), in.Cursor, 1)
			return answer{Text: strings.Join(lines, ""), Next: next}, err
		}
		titles = append(titles, s.title)
	}
	if in.Section != "" {
		return nil, fmt.Errorf("there is no section %q: call language without one for a list", in.Section)
	}
	return answer{Sections: titles}, nil
}

// chunks cuts a text at line ends into parts of at most some bytes.
func chunks(text string, most int) (list []string) {
	part := ""
	for line := range strings.Lines(text) {
		if part != "" && len(part)+len(line) > most {
			list, part = append(list, part), ""
		}
		part += line
	}
	return append(list, part)
}

type namesIn struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Kind      string `json:"kind,omitempty" jsonschema:"label, sector, person, teammate, channel, board, stage, calendar or media; by default all"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next of the answer before"`
}

// nameKinds are the kinds of things that rules name.
var nameKinds = []string{"label", "sector", "person", "teammate", "channel", "board", "stage", "calendar", "media"}

func (c *caller) names(_ context.Context, in namesIn) (any, error) {
	w, err := c.space(in.Workspace)
	if err != nil {
		return nil, err
	}
	if in.Kind != "" && !slices.Contains(nameKinds, in.Kind) {
		return nil, fmt.Errorf("there is no kind %q: it is one of %s", in.Kind, strings.Join(nameKinds, ", "))
	}
	type name struct {
		Kind  string `json:"kind"`
		Name  string `json:"name"`
		Board string `json:"board,omitempty"`
	}
	var all []name
	known := w.Names(used(w))
	for _, kind := range nameKinds {
		if in.Kind != "" && in.Kind != kind {
			continue
		}
		if kind == "stage" {
			for _, choice := range known.Choices {
				if choice.Kind == kind {
					all = append(all, name{kind, engine.Harmless(choice.Name), engine.Harmless(choice.Board)})
				}
			}
			continue
		}
		for _, one := range known.Of(kind) {
			all = append(all, name{Kind: kind, Name: engine.Harmless(one)})
		}
	}
	part, next, err := page(all, in.Cursor, 200)
	var spaces []string
	for _, other := range c.options.Workspaces {
		spaces = append(spaces, other.Name)
	}
	return struct {
		Workspaces []string `json:"workspaces"`
		Timezone   string   `json:"timezone"`
		Names      []name   `json:"names"`
		Next       string   `json:"next,omitempty"`
	}{spaces, w.Location.String(), part, next}, err
}

type rulesIn struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many; 20 by default, at most 50"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next of the answer before"`
}

// ruleLine is a rule in a list.
type ruleLine struct {
	Rule        string `json:"rule"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Stage       string `json:"stage"` // draft, shadow or live; broken if it is not in use as it stands
	File        string `json:"file"`
	Proposal    bool   `json:"proposal_waits,omitempty"`
}

func (c *caller) rules(_ context.Context, in rulesIn) (any, error) {
	w, err := c.space(in.Workspace)
	if err != nil {
		return nil, err
	}
	list, err := ruleLines(w)
	if err != nil {
		return nil, err
	}
	part, next, err := page(list, in.Cursor, sizeOf(in.Limit))
	return struct {
		Rules []ruleLine `json:"rules"`
		Next  string     `json:"next,omitempty"`
	}{part, next}, err
}

// ruleLines lists the rules of a workspace, and proposals of rules that do not exist yet.
func ruleLines(w *console.Workspace) ([]ruleLine, error) {
	files := w.Editing.Store
	proposed, err := files.Proposals()
	if err != nil {
		return nil, err
	}
	list := []ruleLine{}
	add := func(id, name, description, stage, path string) {
		file, err := files.Name(path)
		if err != nil {
			return // of a place that is not written here
		}
		list = append(list, ruleLine{id, engine.Harmless(name), engine.Harmless(description), stage, file, slices.Contains(proposed, file)})
	}
	set := used(w)
	for _, r := range set.Rules {
		add(r.ID, r.Name, r.Description, string(r.Stage), r.File)
	}
	for _, b := range set.Broken {
		if b.ID != "" && set.Rule(b.ID) == nil {
			add(b.ID, "", "", "broken", b.File)
		}
	}
	for _, file := range proposed {
		if slices.ContainsFunc(list, func(l ruleLine) bool { return l.File == file }) {
			continue
		}
		if p, err := files.Proposed(file); err == nil && p != nil {
			list = append(list, ruleLine{Rule: p.Rule, Stage: "proposed", File: file, Proposal: true})
		}
	}
	return list, nil
}

type ruleIn struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Rule      string `json:"rule" jsonschema:"the id of the rule"`
}

func (c *caller) rule(ctx context.Context, in ruleIn) (any, error) {
	w, err := c.space(in.Workspace)
	if err != nil {
		return nil, err
	}
	f, was, err := open(w, in.Rule)
	if err != nil {
		return nil, err
	}
	set, problems, err := draft.Whole(ctx, f)
	if err != nil {
		return nil, err
	}
	problems = slices.DeleteFunc(problems, func(p rules.Problem) bool { return p.File != f.Path() })
	answer := struct {
		Rule     string           `json:"rule"`
		Stage    string           `json:"stage"`
		File     string           `json:"file"`
		Was      string           `json:"was"` // propose asks for it
		Text     string           `json:"text"`
		Problems []problemLine    `json:"problems"`
		Tests    []string         `json:"tests"`
		Proposal *waitingProposal `json:"proposal,omitempty"`
	}{Rule: in.Rule, Stage: "broken", File: f.Name, Was: was, Text: f.Text, Problems: problemLines(problems), Tests: []string{}}
	if r := set.Rule(in.Rule); r != nil {
		answer.Stage = string(r.Stage)
		for _, t := range proof.TestsOf(set, r) {
			answer.Tests = append(answer.Tests, engine.Harmless(t.Name))
		}
	}
	if p, err := w.Editing.Store.Proposed(f.Name); err == nil && p != nil {
		answer.Proposal = &waitingProposal{p.Who, p.Why, p.Rule, p.Saved, p.Text}
	}
	return answer, nil
}

// waitingProposal is a proposal for the file of a rule.
type waitingProposal struct {
	Who   string `json:"who"`
	Why   string `json:"why"`
	Rule  string `json:"rule"`
	Saved bool   `json:"saved_as_draft_or_shadow"`
	Text  string `json:"text"`
}
