package studio

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// A Problem is something that is wrong with a rule, told at the card that it is about.
type Problem struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Path     string `json:"path,omitempty"`   // of the card that it is about
	Plain    string `json:"plain,omitempty"`  // the message without code
	Advice   string `json:"advice,omitempty"` // the hint without code
	Fixes    []Fix  `json:"-"`

	field string // the path of the argument that it is about
	here  bool   // it belongs to the rule
	found rules.Problem
}

// A Fix is something that mends a problem: edits, and what people call them.
type Fix struct {
	Label string
	Edits string
}

// NewProblem returns a problem in a language, with its code.
func NewProblem(l words.Language, p rules.Problem) Problem {
	told := p.In(l.RulesLanguage())
	return Problem{Line: p.Line, Column: p.Column, Severity: string(p.Severity), Message: engine.Harmless(told.Message), Hint: engine.Harmless(told.Hint), found: p}
}

// Words returns the message as a card shows it.
func (p Problem) Words() string {
	if p.Plain != "" {
		return p.Plain
	}
	return p.Message
}

// PlainHint returns the hint where it is no code, which has no place on a card.
func (p Problem) PlainHint() string {
	if p.Advice != "" {
		return p.Advice
	}
	if strings.ContainsAny(p.Hint, "{}():`=_") {
		return ""
	}
	return p.Hint
}

// Places says where the problems of a file belong on the rail of one of its rules: each is told the
// path of its card, which is empty for the rule as a whole. Those of other rules belong nowhere.
func Places(text []byte, rule string, problems []Problem) {
	if len(problems) == 0 {
		return
	}
	file, _ := source.Read("rules", text)
	finder := places{}
	if file != nil && file.Root != nil {
		for _, pair := range file.Root.Pairs {
			finder.add(pair.Key, "", "", false) // such as variables, which the rule may use
			if pair.Key.Value != "rules" || pair.Value == nil {
				continue
			}
			for _, item := range pair.Value.Items {
				finder.rule(item, rule)
			}
		}
	}
	slices.SortStableFunc(finder, func(a, b place) int { return cmp.Or(a.line-b.line, a.column-b.column) })
	for i := range problems {
		p := &problems[i]
		if place, ok := finder.at(p.Line, p.Column); ok {
			p.Path, p.field, p.here = place.path, place.field, true
		}
	}
}

// A place is where something begins in the text that a path leads to.
type place struct {
	line, column int
	path         string // of the card
	field        string // of the argument on it; empty is the card itself
	other        bool   // it belongs to another rule
}

// places are in the order of the file.
type places []place

func (l *places) add(n *source.Node, path, field string, other bool) {
	*l = append(*l, place{n.Line, n.Column, path, field, other})
}

// at returns the place of a position: the last that begins before it.
func (l places) at(line, column int) (found place, ok bool) {
	for _, p := range l {
		if p.line > line || p.line == line && p.column > column {
			break
		}
		found, ok = p, !p.other
	}
	return found, ok || len(l) == 0
}

func (l *places) rule(n *source.Node, id string) {
	own := n.Get("id")
	other := own == nil || own.Value != id
	l.add(n, "", "", other)
	if other {
		return
	}
	for _, pair := range n.Pairs {
		key := pair.Key.Value
		l.add(pair.Key, "/"+key, "", false)
		switch {
		case key == "do" || key == "on_error":
			l.steps(pair.Value, "/"+key)
		case key == "cancel_on" && pair.Value != nil:
			for i, item := range pair.Value.Items {
				l.add(item, fmt.Sprintf("/cancel_on/%d", i), "", false)
			}
		}
	}
}

func (l *places) steps(list *source.Node, path string) {
	if list == nil {
		return
	}
	for i, step := range list.Items {
		at := fmt.Sprintf("%s/%d", path, i)
		l.add(step, at, "", false)
		for _, pair := range step.Pairs {
			l.add(pair.Key, at, "", false) // behind what is inside of another key
			l.arguments(pair.Value, at)
			switch pair.Key.Value {
			case "choose":
				l.branches(pair.Value, at)
			case "for_each":
				if pair.Value != nil {
					l.steps(pair.Value.Get("do"), at+"/args/do/steps")
				}
			}
		}
	}
}

// arguments adds those of a step: a value alone is the main one.
func (l *places) arguments(n *source.Node, step string) {
	if n == nil {
		return
	}
	if n.Kind != source.Mapping {
		l.add(n, step, step+"/args/", false)
		return
	}
	for _, pair := range n.Pairs {
		l.add(pair.Key, step, step+"/args/"+pair.Key.Value, false)
	}
}

func (l *places) branches(list *source.Node, step string) {
	if list == nil {
		return
	}
	for i, b := range list.Items {
		at := fmt.Sprintf("%s/args/branches/branches/%d/do", step, i)
		l.add(b, step, "", false)
		for _, pair := range b.Pairs {
			l.add(pair.Key, step, "", false)
			if key := pair.Key.Value; key == "do" || key == "else" {
				l.steps(pair.Value, at)
			}
		}
	}
}

// Vars returns the variables of a file.
func Vars(text []byte) map[string]any {
	if !bytes.Contains(text, []byte("vars")) {
		return nil // most files have none, and need not be read for that
	}
	file, _ := source.Read("rules", text)
	if file == nil || file.Root == nil || file.Root.Get("vars") == nil {
		return nil
	}
	vars, _ := file.Root.Get("vars").Any().(map[string]any)
	return vars
}
