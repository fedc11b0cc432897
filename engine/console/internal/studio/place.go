package studio

import (
	"fmt"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// A Problem is something that is wrong with a rule, told at the card that it is about.
type Problem struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Path     string `json:"path,omitempty"` // of the card that it is about
}

// PlainHint returns the hint where it is no code, which has no place on a card.
func (p Problem) PlainHint() string {
	if strings.ContainsAny(p.Hint, "{}():`=_") {
		return ""
	}
	return p.Hint
}

// oneAnswer is the limit that the checker proposes for a rule that would answer every message.
const oneAnswer = "limit: { times: 1, per: 12h }"

// Limits returns the edit that mends a rule without a limit; it is empty for other problems.
func (p Problem) Limits() string {
	if !strings.Contains(p.Hint, oneAnswer) {
		return ""
	}
	return asJSON([]Edit{{Op: Set, Path: "/limit", Value: usual["limit"]}})
}

// Places puts the problems of a file to the cards of one of its rules, by their paths. Those of no
// card are at the empty path; those of other rules are left out. Each problem is told its path.
func Places(text []byte, rule string, problems []Problem) map[string][]Problem {
	out := map[string][]Problem{}
	if len(problems) == 0 {
		return out
	}
	file, _ := source.Read("rules", text)
	finder := places{}
	if file != nil && file.Root != nil {
		if list := file.Root.Get("rules"); list != nil {
			for _, item := range list.Items {
				finder.rule(item, rule)
			}
		}
	}
	for i, p := range problems {
		if path, ok := finder.at(p.Line, p.Column); ok {
			problems[i].Path = path
			out[path] = append(out[path], p)
		}
	}
	return out
}

// places are the beginnings of what a path leads to, in the order of the file.
type places []struct {
	line, column int
	path         string
	other        bool // it belongs to another rule
}

func (l *places) add(n *source.Node, path string, other bool) {
	*l = append(*l, struct {
		line, column int
		path         string
		other        bool
	}{n.Line, n.Column, path, other})
}

// at returns the path of a position: the last that begins before it.
func (l places) at(line, column int) (path string, ok bool) {
	for _, p := range l {
		if p.line > line || p.line == line && p.column > column {
			break
		}
		path, ok = p.path, !p.other
	}
	return path, ok || len(l) == 0
}

func (l *places) rule(n *source.Node, id string) {
	own := n.Get("id")
	other := own == nil || own.Value != id
	l.add(n, "", other)
	if other {
		return
	}
	for _, pair := range n.Pairs {
		switch key := pair.Key.Value; key {
		case "when", "if":
			l.add(pair.Key, "/"+key, false)
		case "do", "on_error":
			l.add(pair.Key, "", false)
			l.steps(pair.Value, "/"+key)
		default:
			l.add(pair.Key, "", false)
		}
	}
}

func (l *places) steps(list *source.Node, path string) {
	if list == nil {
		return
	}
	for i, step := range list.Items {
		at := fmt.Sprintf("%s/%d", path, i)
		l.add(step, at, false)
		for _, pair := range step.Pairs {
			l.add(pair.Key, at, false) // behind what is inside of another key
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

func (l *places) branches(list *source.Node, step string) {
	if list == nil {
		return
	}
	for i, b := range list.Items {
		at := fmt.Sprintf("%s/args/branches/branches/%d/do", step, i)
		l.add(b, step, false)
		for _, pair := range b.Pairs {
			l.add(pair.Key, step, false)
			if key := pair.Key.Value; key == "do" || key == "else" {
				l.steps(pair.Value, at)
			}
		}
	}
}

// Vars returns the variables of a file.
func Vars(text []byte) map[string]any {
	file, _ := source.Read("rules", text)
	if file == nil || file.Root == nil || file.Root.Get("vars") == nil {
		return nil
	}
	vars, _ := file.Root.Get("vars").Any().(map[string]any)
	return vars
}
