package studio

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A block is what people think of as one thing: several steps and keys of a rule, which are asked
// for together and shown together. A rule does not know of it.
type block struct {
	name string
	asks []Ask
	make func(f form.Form, v filled) []Edit // the edits that put it into a rule; steps go to a place named here
	read func(f form.Form, list []form.Step) int
}

// here is the place of the first step of a block, among the paths of its edits.
const here = "/here/"

// An Ask is a value that a block asks for, in a sheet.
type Ask struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // text, length, span, hours (a span of office hours), leads, number, time, name, until or rows
	Label   string `json:"label"`
	From    string `json:"from,omitempty"`    // of a name
	Default string `json:"default,omitempty"` // what it begins with
	Rows    []Ask  `json:"rows,omitempty"`    // of each row
	Count   int    `json:"count,omitempty"`   // of rows at the beginning
}

// filled is what a person filled in, by the names of the asks.
type filled map[string]any

func (v filled) text(name string) string { s, _ := v[name].(string); return strings.TrimSpace(s) }

func (v filled) rows(name string) (list []filled) {
	rows, _ := v[name].([]any)
	for _, row := range rows {
		if fields, ok := row.(map[string]any); ok {
			list = append(list, fields)
		}
	}
	return list
}

// blocks are the building blocks, in the order of the menu.
var blocks = []block{
	{"ask", []Ask{
		{Name: "question", Kind: "text"},
		{Name: "choices", Kind: "rows", Count: 2, Rows: []Ask{{Name: "text", Kind: "line"}, {Name: "leads", Kind: "leads"}}},
		{Name: "timeout", Kind: "span", Default: "1h"}, {Name: "then", Kind: "leads"},
	}, makeAsk, readAsk},
	{"escalate", []Ask{
		{Name: "levels", Kind: "rows", Count: 1, Rows: []Ask{{Name: "after", Kind: "hours", Default: "15m"}, {Name: "leads", Kind: "leads"}}},
	}, makeEscalate, readEscalate},
	{"away", []Ask{
		{Name: "text", Kind: "text"}, {Name: "calendar", Kind: "name", From: "calendar"}, {Name: "per", Kind: "length", Default: "12h"},
	}, makeAway, readAway},
	{"remind", []Ask{
		{Name: "text", Kind: "text"}, {Name: "after", Kind: "span", Default: "1d"}, {Name: "times", Kind: "number", Default: "2"}, {Name: "until", Kind: "until"},
	}, makeRemind, readRemind},
	{"part", []Ask{{Name: "share", Kind: "number", Default: "10"}}, makePart, nil},
	{"daily", []Ask{{Name: "at", Kind: "time", Default: "09:00"}}, makeDaily, nil},
}

// Blocks returns the building blocks with what they ask for, in a person's words.
func (m *Maker) Blocks() (list []BlockOption) {
	for _, b := range blocks {
		out := BlockOption{Option: Option{Value: b.name, Label: m.T("block." + b.name), Group: m.T("verbs.blocks")}, Words: map[string]string{"answer": m.T("name.wait_for")}}
		out.Asks = m.labelled(b.name, b.asks)
		list = append(list, out)
	}
	return list
}

// A BlockOption is a block to choose.
type BlockOption struct {
	Option
	Asks  []Ask             `json:"asks"`
	Words map[string]string `json:"words"` // that go into the rule
}

func (m *Maker) labelled(name string, asks []Ask) []Ask {
	asks = slices.Clone(asks)
	for i, a := range asks {
		asks[i].Label, asks[i].Rows = m.T("block."+name+"."+a.Name), m.labelled(name, a.Rows)
	}
	return asks
}

// expanded returns the edits of a block, as those of its steps and keys.
func expanded(f form.Form, e Edit) ([]Edit, error) {
	text, err := json.Marshal(e.Value)
	if err != nil {
		return nil, ErrEdit
	}
	v := filled{}
	if json.Unmarshal(text, &v) != nil {
		return nil, ErrEdit
	}
	i := slices.IndexFunc(blocks, func(b block) bool { return b.name == v.text("block") })
	if i < 0 {
		return nil, ErrEdit
	}
	edits := blocks[i].make(f, v)
	for n, one := range edits {
		if rest, ok := strings.CutPrefix(one.Path, here); ok {
			k, err := strconv.Atoi(rest)
			if err != nil {
				return nil, ErrEdit
			}
			edits[n].Path = shifted(e.Path, k)
		}
	}
	return edits, nil
}

// adding returns the edits that add steps at the place of a block.
func adding(steps []form.Step) (edits []Edit) {
	for i, s := range steps {
		edits = append(edits, Edit{Op: Add, Path: here + strconv.Itoa(i), Value: s})
	}
	return edits
}

func textArg(name, text string) form.Arg { return form.Arg{Name: name, Text: text} }

// leads returns the steps that an answer or a level leads to: sector:Sales, label:vip.
func leads(to string) []form.Step {
	kind, name, _ := strings.Cut(to, ":")
	switch kind {
	case "sector", "person":
		return []form.Step{{Verb: vocabulary.Transfer, Args: []form.Arg{textArg(kind, name)}}}
	case "label":
		return []form.Step{{Verb: vocabulary.AddLabels, Args: []form.Arg{{Name: "labels", As: form.AsList, List: []string{name}}}}}
	case "message":
		return []form.Step{{Verb: vocabulary.SendMessage}}
	case "close":
		return []form.Step{{Verb: vocabulary.CloseAttendance}}
	}
	return nil
}

func makeAsk(f form.Form, v filled) []Edit {
	answer := freeName(f, v.text("answer"))
	text := v.text("question")
	var numbers []string
	ways := []form.Branch{}
	for _, row := range v.rows("choices") {
		if row.text("text") == "" {
			continue
		}
		n := strconv.Itoa(len(numbers) + 1)
		numbers = append(numbers, strconv.Quote(n))
		text += "\n" + n + " - " + row.text("text")
		ways = append(ways, form.Branch{If: fmt.Sprintf(`trim(%s?.message?.text ?? "") == %q`, answer, n), Do: leads(row.text("leads"))})
	}
	wait := form.Step{Verb: "wait_for", ID: answer, Args: []form.Arg{textArg("event", vocabulary.MessageReceived)}}
	if len(numbers) > 0 {
		wait.Args = append(wait.Args, textArg("if", `trim(message.text ?? "") in [`+strings.Join(numbers, ", ")+`]`))
	}
	wait.Args = append(wait.Args, textArg("timeout", v.text("timeout")))
	then := leads(v.text("then"))
	switch {
	case len(ways) > 0 && len(then) > 0:
		ways = append(ways, form.Branch{Else: true, Do: then})
	case len(then) > 0:
		ways = append(ways, form.Branch{If: answer + " == nil", Do: then})
	}
	steps := []form.Step{{Verb: vocabulary.SendMessage, Args: []form.Arg{textArg("text", text)}}, wait}
	if len(ways) > 0 {
		steps = append(steps, form.Step{Verb: "choose", Args: []form.Arg{{Name: "branches", As: form.AsBranches, Branches: ways}}})
	}
	return append(adding(steps), once(f, "12h")...)
}

// once returns the edit that lets a rule run once in a time, where it has no limit.
func once(f form.Form, per string) []Edit {
	if _, byHand := f.YAML["limit"]; f.Limit != nil || byHand {
		return nil
	}
	return []Edit{{Op: Set, Path: "/limit", Value: form.Limit{Times: "1", Per: per}}}
}

// freeName returns a name that no step has yet.
func freeName(f form.Form, name string) string {
	if name == "" {
		name = "answer"
	}
	taken := map[string]bool{}
	eachStep(f, func(s *form.Step) { taken[s.ID] = true })
	out := name
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s_%d", name, n)
	}
	return out
}

// answered is when nobody needs to be called any more.
const answered = `attendance.status != "open" or attendance.first_response != nil`

func makeEscalate(f form.Form, v filled) []Edit {
	var steps []form.Step
	for _, row := range v.rows("levels") {
		then := leads(row.text("leads"))
		if len(then) == 0 {
			then = []form.Step{{Verb: vocabulary.Transfer}} // to whom is chosen on its card
		}
		steps = append(steps, form.Step{Verb: "wait", Args: []form.Arg{textArg("for", row.text("after"))}}, form.Step{Verb: "stop_if", Args: []form.Arg{textArg("if", answered)}})
		steps = append(steps, then...)
	}
	edits := adding(steps)
	if len(f.CancelOn) == 0 {
		edits = append(edits, Edit{Op: Set, Path: "/cancel_on", Value: []form.Match{{Events: []string{vocabulary.AttendanceClosed}}, {Events: []string{vocabulary.MessageSent}, If: `message.by == "team"`}}})
	}
	if len(f.If) == 0 {
		edits = append(edits, Edit{Op: Set, Path: "/if", Value: []string{`attendance.status == "open"`, `attendance.first_response == nil`}})
	}
	if f.Mode == "" {
		edits = append(edits, Edit{Op: Set, Path: "/mode", Value: "single"})
	}
	return append(edits, once(f, "4h")...)
}

func makeAway(f form.Form, v filled) []Edit {
	closed := fmt.Sprintf("closed(%q)", v.text("calendar"))
	edits := adding([]form.Step{{Verb: vocabulary.SendMessage, Args: []form.Arg{textArg("text", v.text("text"))}}})
	for _, condition := range []string{closed, `conversation.kind == "direct"`} {
		if !slices.Contains(f.If, condition) {
			edits = append(edits, Edit{Op: Add, Path: "/if/" + strconv.Itoa(len(f.If)), Value: condition})
			f.If = append(slices.Clip(f.If), condition)
		}
	}
	return append(edits, once(f, v.text("per"))...)
}

func makeRemind(f form.Form, v filled) []Edit {
	times, err := strconv.Atoi(v.text("times"))
	if err != nil {
		times = 1
	}
	var steps []form.Step
	for range min(max(times, 1), 10) {
		steps = append(steps, form.Step{Verb: "wait", Args: []form.Arg{textArg("for", v.text("after"))}}, form.Step{Verb: vocabulary.SendMessage, Args: []form.Arg{textArg("text", v.text("text"))}})
	}
	edits := adding(steps)
	if until := v.text("until"); until != "" && !slices.ContainsFunc(f.CancelOn, func(m form.Match) bool { return m.If == "" && slices.Contains(m.Events, until) }) {
		edits = append(edits, Edit{Op: Add, Path: "/cancel_on/" + strconv.Itoa(len(f.CancelOn)), Value: form.Match{Events: []string{until}}})
	}
	return edits
}

func makePart(_ form.Form, v filled) []Edit {
	return []Edit{{Op: Set, Path: "/sample", Value: v.text("share") + "%"}}
}

func makeDaily(_ form.Form, v filled) []Edit {
	return []Edit{{Op: Set, Path: "/when", Value: form.When{Schedule: &form.Schedule{At: []string{v.text("at")}}}}}
}

// blockAt returns the name of the block that steps begin with, and how many of them it has.
func blockAt(f form.Form, list []form.Step) (name string, n int) {
	for _, b := range blocks {
		if b.read != nil {
			if n := b.read(f, list); n > 0 {
				return b.name, n
			}
		}
	}
	return "", 0
}

func argText(s form.Step, name string) string {
	a := argNamed(s.Args, name)
	switch {
	case a == nil:
		return ""
	case len(a.List) == 1:
		return a.List[0]
	}
	return a.Text
}

// verbAt returns the verb of a step of a list, or nothing behind its end.
func verbAt(list []form.Step, n int) string {
	if n >= len(list) {
		return ""
	}
	return list[n].Verb
}

// readAsk finds a message, the wait for an answer to it, and what comes of the answer.
func readAsk(_ form.Form, list []form.Step) int {
	if verbAt(list, 0) != vocabulary.SendMessage || argNamed(list[0].Args, "to") != nil || verbAt(list, 1) != "wait_for" || argText(list[1], "event") != vocabulary.MessageReceived {
		return 0
	}
	n := 2
	for verbAt(list, n) == "set" || verbAt(list, n) == "stop_if" {
		n++
	}
	if verbAt(list, n) == "choose" {
		return n + 1
	}
	return 2
}

// readEscalate finds levels: a wait, the question whether it was answered, and what is done if not.
func readEscalate(_ form.Form, list []form.Step) (n int) {
	for verbAt(list, n) == "wait" && verbAt(list, n+1) == "stop_if" && strings.Contains(argText(list[n+1], "if"), "attendance.first_response") {
		end := n + 2
		for end < len(list) && !slices.Contains([]string{"wait", "wait_for", "stop_if", "choose", "for_each", ""}, list[end].Verb) {
			end++
		}
		if end == n+2 {
			return n
		}
		n = end
	}
	return n
}

// readAway finds the message of a rule that answers once in a time while it is closed.
func readAway(f form.Form, list []form.Step) int {
	if verbAt(list, 0) != vocabulary.SendMessage || len(f.Do) == 0 || &f.Do[0] != &list[0] || f.Limit == nil || f.Limit.Times != "1" {
		return 0
	}
	for _, text := range f.If {
		if c := sentence.Read(text); c.Sentence == "open" && c.Not {
			return 1
		}
	}
	return 0
}

// readRemind finds waits with a message behind each, in a rule that something ends early.
func readRemind(f form.Form, list []form.Step) (n int) {
	for len(f.CancelOn) > 0 && verbAt(list, n) == "wait" && verbAt(list, n+1) == vocabulary.SendMessage && argNamed(list[n+1].Args, "to") == nil {
		n += 2
	}
	return n
}

// Purpose returns what a rule is for, as its shape tells: the name of the block that its steps
// have, route for one that passes conversations on, else nothing.
func Purpose(f form.Form) string {
	for i := range f.Do {
		if name, n := blockAt(f, f.Do[i:]); n > 0 {
			return name
		}
	}
	purpose := ""
	eachStep(f, func(s *form.Step) {
		if s.Verb == vocabulary.Transfer || s.Verb == vocabulary.SetSector {
			purpose = "route"
		}
	})
	return purpose
}
