package studio

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

// steps shows a list of steps. Before are those that come before all of them, and behind is where a
// step goes that is moved out of the list.
func (w *writer) steps(path string, list []form.Step, before []form.Step, behind string) Steps {
	out := Steps{Path: path}
	before = slices.Clip(before)
	name, left := "", 0 // of the block that the step is in
	for i, s := range list {
		c := w.step(fmt.Sprintf("%s/%d", path, i), s, append(before, list[:i]...))
		c.N, c.Out = i+1, behind
		if left == 0 {
			if name, left = blockAt(w.form, list[i:]); left > 0 {
				c.Block = w.T("block." + name)
			}
		}
		if left > 0 {
			c.InBlock = true
			left--
		}
		if i > 0 {
			c.Into = intoOf(fmt.Sprintf("%s/%d", path, i-1), list[i-1])
		}
		out.Cards = append(out.Cards, c)
	}
	return out
}

// intoOf returns the end of the first way of a step, or of its loop.
func intoOf(path string, s form.Step) string {
	for _, a := range s.Args {
		switch {
		case a.As == form.AsBranches && len(a.Branches) > 0:
			return fmt.Sprintf("%s/args/%s/branches/0/do/%d", path, a.Name, len(a.Branches[0].Do))
		case a.As == form.AsSteps:
			return fmt.Sprintf("%s/args/%s/steps/%d", path, a.Name, len(a.Steps))
		}
	}
	return ""
}

// step shows a step as a sentence.
func (w *writer) step(path string, s form.Step, before []form.Step) Card {
	c := Card{Path: path, Verb: s.Verb, Icon: w.iconOf(s.Verb), Problems: w.take(path), Off: s.Enabled == "false"}
	if s.Verb == "" {
		c.Hand = &Chip{Path: path + "/yaml", Picker: "hand", Label: w.T("form.yaml_step"), Words: s.YAML, Value: s.YAML, Hand: true}
		return c
	}
	scope := w.scope(before)
	verb := w.verb(s.Verb)
	if verb == nil {
		c.Pieces = []Piece{{Words: s.Verb}}
		return c
	}
	said := map[string]bool{}
	pattern := strings.ReplaceAll(s.Verb, "_", " ")
	if w.Knows("do." + s.Verb) {
		pattern = w.T("do." + s.Verb)
	}
	c.Pieces = fill(pattern, func(name string) []Piece {
		k := argumentNamed(verb.Args, name)
		if k == nil {
			return nil
		}
		said[name] = true
		wanted := isWanted(verb, s, name)
		pieces := w.argument(path+"/args/"+name, *k, argNamed(s.Args, name), wanted || w.lacks(s, name, scope), scope)
		if wanted && len(pieces) == 1 && k.Kind == "name" && pieces[0].Chip.Bare {
			w.offerOthers(pieces[0].Chip, path, verb, scope)
		}
		return pieces
	})
	for _, k := range verb.Args {
		at := path + "/args/" + k.Name
		given := argNamed(s.Args, k.Name)
		switch {
		case k.Kind == "expression" && k.Name == "if":
			said[k.Name] = true
			text := ""
			if given != nil {
				text = given.Text
			}
			c.Question = w.conditions(at+"/text/~if", sentence.Read(text), scope)
			if c.Question == nil {
				c.Question = &Condition{Path: at + "/text/~if"}
			}
		case k.Kind == "branches":
			said[k.Name] = true
			c.BranchPath = at + "/branches"
			if given != nil {
				c.Branches = w.branches(at+"/branches", given.Branches, before, path)
			}
		case k.Kind == "steps":
			said[k.Name] = true
			inside := append(slices.Clip(before), s)
			list := []form.Step{}
			if given != nil {
				list = given.Steps
			}
			loop := w.steps(at+"/steps", list, inside, shifted(path, 1))
			c.Loop = &loop
		case k.Kind == "text" && (k.Name == "text" || k.Name == "description") && (given != nil || k.Required || k.Name == verb.Main):
			said[k.Name] = true
			c.Text = w.text(at, k, given, scope)
		}
	}
	more, add := w.besides(path+"/args", verb.Args, s.Args, said, scope)
	for name := range said { // of a sentence that left them out
		k := argumentNamed(verb.Args, name)
		if argNamed(s.Args, name) == nil && !isWanted(verb, s, name) && k.Kind != "branches" && k.Kind != "steps" && k.Name != "if" {
			if len(k.Fields) == 0 {
				add = append(add, w.missing(path+"/args/"+name, *k, scope))
			}
		}
	}
	slices.SortFunc(add, func(a, b Chip) int { return strings.Compare(a.Label, b.Label) })
	if s.ID == "" && verb.Result {
		add = append(add, Chip{Path: path + "/id", Picker: "text", Label: w.T("studio.result")})
	}
	if s.OnError == "" {
		add = append(add, Chip{Path: path + "/on_error", Picker: "choice", Label: w.T("studio.failing"), Values: w.failing()})
	}
	if s.Retry == nil && !verb.Control {
		add = append(add, Chip{Path: path + "/retry/times", Picker: "number", Label: w.T("studio.retry")})
	} else if s.Retry != nil && s.Retry.For == "" {
		add = append(add, Chip{Path: path + "/retry/for", Picker: "duration", Label: w.T("studio.retry_for")})
	}
	if s.Verb == vocabulary.SendMessage && s.EvenIfMuted == "" {
		add = append(add, Chip{Path: path + "/even_if_muted", Picker: "choice", Label: w.T("studio.muted"), Values: w.flags()})
	}
	c.More, c.Add = append(more, w.control(path, s, scope)...), add
	c.If = w.conditions(path+"/if/~if", sentence.Read(s.If), scope)
	c.markWrong()
	return c
}

// markWrong marks the chips that problems of the card are about.
func (c *Card) markWrong() {
	for _, p := range c.Problems {
		if p.field == "" {
			continue
		}
		for i := range c.More {
			c.More[i].Wrong = c.More[i].Wrong || strings.HasPrefix(c.More[i].Path, p.field)
		}
		for i := range c.Pieces {
			if chip := c.Pieces[i].Chip; chip != nil {
				chip.Wrong = chip.Wrong || strings.HasPrefix(chip.Path, p.field)
			}
		}
	}
}

// control shows what a step says of itself beside its arguments.
func (w *writer) control(path string, s form.Step, scope sentence.Scope) (chips []Chip) {
	if s.ID != "" {
		chips = append(chips, Chip{Path: path + "/id", Picker: "text", Label: w.T("studio.result"), Words: s.ID, Value: s.ID, Clear: true})
	}
	if s.OnError != "" {
		code := map[string]string{"continue": "studio.go_on", "stop": "studio.stop_on"}[s.OnError]
		chips = append(chips, Chip{Path: path + "/on_error", Picker: "choice", Words: w.T(code), Value: s.OnError, Clear: true, Values: w.failing()})
	}
	if s.Retry != nil {
		chips = append(chips, Chip{Path: path + "/retry/times", Picker: "number", Label: w.T("studio.retry"), Words: w.plain(s.Retry.Times, scope) + " ×", Value: s.Retry.Times, Clear: true})
		if s.Retry.For != "" {
			chips = append(chips, Chip{Path: path + "/retry/for", Picker: "duration", Label: w.T("studio.retry_for"), Words: w.span(s.Retry.For, scope), Value: s.Retry.For, Clear: true})
		}
	}
	if s.Enabled != "" && s.Enabled != "false" { // which the checker refuses
		chips = append(chips, Chip{Path: path + "/enabled", Picker: "choice", Label: w.T("studio.off"), Words: s.Enabled, Value: s.Enabled, Clear: true, Values: []Option{{Value: "false", Label: w.T("studio.off")}}})
	}
	if s.EvenIfMuted != "" {
		chips = append(chips, Chip{Path: path + "/even_if_muted", Picker: "choice", Label: w.T("studio.muted"), Words: w.Or("value.", s.EvenIfMuted), Value: s.EvenIfMuted, Clear: true, Values: w.flags()})
	}
	return chips
}

func (w *writer) failing() []Option {
	return []Option{{Value: "continue", Label: w.T("studio.go_on")}, {Value: "stop", Label: w.T("studio.stop_on")}}
}

func (w *writer) branches(path string, list []form.Branch, before []form.Step, step string) (out []Branch) {
	scope := w.scope(before)
	for i, b := range list {
		at := fmt.Sprintf("%s/%d", path, i)
		branch := Branch{Path: at, Else: b.Else, Do: w.steps(at+"/do", b.Do, before, shifted(step, 1))}
		if !b.Else {
			c := sentence.Read(b.If)
			if branch.If = w.conditions(at+"/if/~if", c, scope); branch.If == nil || c.Sentence == "always" && !c.Not {
				branch.If = &Condition{Path: at + "/if/~if"}
			}
		}
		out = append(out, branch)
	}
	return out
}

// shifted returns the place some places behind another in its list.
func shifted(path string, by int) string {
	at := strings.LastIndexByte(path, '/') + 1
	n, err := strconv.Atoi(path[at:])
	if err != nil {
		return path
	}
	return path[:at] + strconv.Itoa(n+by)
}

// isWanted reports whether a step lacks an argument: a required one, or the main one where none of
// several is given.
func isWanted(verb *form.Verb, s form.Step, name string) bool {
	if k := argumentNamed(verb.Args, name); k.Required {
		return true
	}
	given := func(name string) bool { return argNamed(s.Args, name) != nil }
	if !slices.Contains(verb.OneOf, name) || slices.ContainsFunc(verb.OneOf, given) {
		return false
	}
	if first := verb.OneOf[0]; argumentNamed(verb.Args, first).Kind == "name" || !slices.Contains(verb.OneOf, verb.Main) {
		return name == first // the chip of the first name offers the others
	}
	return name == verb.Main
}

// offerOthers lets the other names of which a step needs one be chosen with a chip.
func (w *writer) offerOthers(c *Chip, path string, verb *form.Verb, scope sentence.Scope) {
	for _, name := range verb.OneOf {
		if k := argumentNamed(verb.Args, name); k.Kind == "name" && path+"/args/"+name != c.Path {
			c.Others = append(c.Others, w.missing(path+"/args/"+name, *k, scope))
		}
	}
	if len(c.Others) > 0 {
		c.Words = w.T("pick.target")
	}
}

// lacks reports whether a step needs an argument because what starts the rule does not bring what
// it works on, such as a conversation.
func (w *writer) lacks(s form.Step, name string, scope sentence.Scope) bool {
	schema := w.Catalog.Verb(s.Verb)
	if schema == nil || schema.Needs == "" || scope.Has(schema.Needs) || !slices.Contains(schema.Unless, name) {
		return false
	}
	return !slices.ContainsFunc(schema.Unless, func(other string) bool { return argNamed(s.Args, other) != nil })
}

func argumentNamed(list []form.Argument, name string) *form.Argument {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func argNamed(list []form.Arg, name string) *form.Arg {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func (m *Maker) verb(name string) *form.Verb {
	for i := range m.Catalogue.Verbs {
		if m.Catalogue.Verbs[i].Name == name {
			return &m.Catalogue.Verbs[i]
		}
	}
	return nil
}

// groups are those of the menu of steps, with the icons of their cards.
var groups = []struct{ name, icon string }{
	{"messages", "message"},
	{"people", "arrow-right"},
	{"labels", "tag"},
	{"flow", "clock"},
	{"cards", "layout"},
	{"contacts", "user"},
	{"lists", "search"},
	{"", "file"},
}

var icons = map[string]string{"stop_if": "stop", "stop": "stop", "choose": "route", "for_each": "repeat", "set": "file", "log": "file"}

func (m *Maker) iconOf(verb string) string {
	if icon := icons[verb]; icon != "" {
		return icon
	}
	group := ""
	if schema := m.Catalog.Verb(verb); schema != nil {
		if schema.Outside {
			return "globe"
		}
		group = schema.Group
	}
	for _, g := range groups {
		if g.name == group {
			return g.icon
		}
	}
	return "file"
}

// Verbs returns the steps to choose from, in groups.
func (m *Maker) Verbs() (list []Option) {
	for _, g := range groups {
		for _, schema := range m.Catalog.Schemas() {
			if schema.Group == g.name {
				list = append(list, Option{Value: schema.Verb, Label: m.menuLabel(schema.Verb), Group: m.T("verbs." + cmp.Or(g.name, "other"))})
			}
		}
	}
	return list
}

// menuLabel is a verb's sentence without its arguments.
func (m *Maker) menuLabel(verb string) string {
	if !m.Knows("do." + verb) {
		return strings.ReplaceAll(verb, "_", " ")
	}
	label := ""
	for _, p := range fill(m.T("do."+verb), func(string) []Piece { return []Piece{{Words: "…"}} }) {
		label += p.Words
	}
	return strings.TrimRight(label, " :,")
}
