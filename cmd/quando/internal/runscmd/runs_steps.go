package runscmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/redact"
)

// writeSteps prints each step with its result, what was sent and what was answered.
func writeSteps(v *view.View, w io.Writer, c cli.Palette, r *journal.Run) {
	if len(r.Steps) == 0 {
		fmt.Fprintln(w, "\nNo step has been taken.")
		return
	}
	fmt.Fprintln(w, "\nSteps")
	paths, names := 0, 0
	for _, s := range r.Steps {
		paths, names = max(paths, cli.Width(cli.Harmless(s.Path))), max(names, cli.Width(cli.Harmless(s.Verb)))
	}
	for _, s := range r.Steps {
		path, verb := cli.Harmless(s.Path), cli.Harmless(s.Verb)
		words := stepWords(s.State)
		if s.State == journal.StepWaiting && r.State.Finished() {
			words = "was not over when the run ended"
		}
		state := stepColour(c, s.State)(words)
		fmt.Fprintf(w, "  %s%s  %s%s  %s", path, strings.Repeat(" ", paths-cli.Width(path)), c.Bold(verb), strings.Repeat(" ", names-cli.Width(verb)), state)
		if s.State == journal.StepWaiting && !r.WakeAt.IsZero() {
			fmt.Fprintf(w, " until %s", v.Ahead(r.WakeAt))
		}
		if s.Attempts > 1 {
			fmt.Fprintf(w, ", %d attempts", s.Attempts)
		}
		fmt.Fprintln(w)
		if s.Error != "" {
			fmt.Fprintf(w, "      %s %s\n", c.Dim(fmt.Sprintf("%-10s", "error")), c.Red(cli.Harmless(s.Error)))
		}
		writeRecord(w, c, s)
	}
}

// stepWords describes the state of a step.
func stepWords(s journal.StepState) string {
	switch s {
	case journal.StepWould:
		return "would have been done"
	case journal.StepOpen:
		return "under way"
	case journal.StepSuperseded:
		return "left to somebody who was there first"
	case journal.StepUncertain:
		return "uncertain: nobody knows whether the call had its effect"
	case journal.StepWaiting:
		return "waits"
	}
	return string(s)
}

func stepColour(c cli.Palette, s journal.StepState) func(string) string {
	switch s {
	case journal.StepDone:
		return c.Green
	case journal.StepFailed, journal.StepUncertain:
		return c.Red
	case journal.StepSkipped, journal.StepSuperseded:
		return c.Dim
	}
	return c.Yellow
}

// writeRecord prints the engine's record of a step: intended calls, and answers. The format is
// internal to the engine, so an unknown one is printed as it is.
func writeRecord(w io.Writer, c cli.Palette, s *journal.Step) {
	var record map[string]json.RawMessage
	if err := json.Unmarshal(view.HideJSON(s.Record), &record); err != nil {
		if len(bytes.TrimSpace(s.Record)) > 0 {
			writeValue(w, c, "record", json.RawMessage(redact.Text(string(s.Record))))
		}
		return
	}
	for _, name := range bookkeeping {
		delete(record, name)
	}
	var intent map[string]json.RawMessage
	if json.Unmarshal(record["intent"], &intent) == nil && intent["request"] != nil {
		writeValue(w, c, intentName(s.State), intent["request"])
		delete(record, "intent")
	}
	var receipts []map[string]json.RawMessage
	if json.Unmarshal(record["receipts"], &receipts) == nil {
		for _, r := range receipts {
			if r["answer"] != nil {
				writeValue(w, c, "answer", r["answer"])
				delete(record, "value") // it is made of the answers
			}
		}
		delete(record, "receipts")
	}
	writeCalls(w, c, record)
	for _, name := range slices.Sorted(maps.Keys(record)) {
		writeValue(w, c, cmp.Or(recordNames[name], name), record[name])
	}
}

// recordNames are readable names of a record's members.
var recordNames = map[string]string{"args": "asked for", "answers": "was told"}

// writeCalls prints what the calls with receipts sent. The step's arguments add nothing then.
func writeCalls(w io.Writer, c cli.Palette, record map[string]json.RawMessage) {
	var sent []map[string]json.RawMessage
	if json.Unmarshal(record["sent"], &sent) != nil {
		return
	}
	for _, s := range sent {
		writeValue(w, c, "sent", s["request"])
		delete(record, "args")
	}
	delete(record, "sent")
}

// bookkeeping are internal members of a record that say nothing new to a person.
var bookkeeping = []string{"at", "ended", "allowed", "wait", "branch", "until", "heard", "generation", "tried", "answered", "confirmed", "failures", "last", "since"}

// intentName says what a call is to a step in a state.
func intentName(s journal.StepState) string {
	switch s {
	case journal.StepWould:
		return "would send"
	case journal.StepOpen, journal.StepUncertain, journal.StepFailed:
		return "to send"
	}
	return "sent"
}

// writeValue shows a JSON value under its name: on one line if it fits, else one member to a line.
func writeValue(w io.Writer, c cli.Palette, name string, text json.RawMessage) {
	lines := []string{cli.Harmless(string(text))}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) == nil {
		value = untagged(value)
		lines = valueLines(value, "")
		if one := strings.Join(lines, ", "); len(lines) > 0 && flat(value) && cli.Width(one) <= cli.TableWidth-20 {
			lines = []string{one}
		}
	}
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(w, "      %s %s\n", c.Dim(fmt.Sprintf("%-10s", cli.Harmless(name))), line)
	}
}

// untagged takes off what the engine writes around values that JSON has no words for: {"$time": …}.
func untagged(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if strings.HasPrefix(name, "$") {
				return untagged(v)
			}
			value[name] = untagged(v)
		}
	case []any:
		for i := range value {
			value[i] = untagged(value[i])
		}
	}
	return value
}

// valueLines formats a JSON value as lines, without nulls.
func valueLines(value any, indent string) []string {
	var lines []string
	member := func(name string, v any) {
		below := valueLines(v, indent+"  ")
		if nested(v) {
			lines = append(append(lines, indent+name), below...)
		} else if v != nil {
			lines = append(lines, indent+name+" "+strings.TrimSpace(strings.Join(below, "")))
		}
	}
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			member(cli.Harmless(name)+":", value[name])
		}
	case []any:
		for _, v := range value {
			member("-", v)
		}
	case string:
		lines = append(lines, indent+cli.Harmless(value))
	default:
		text, _ := json.Marshal(value) // numbers and bools as JSON has them
		lines = append(lines, indent+string(text))
	}
	return lines
}

// nested reports whether a value has parts.
func nested(value any) bool { return len(cli.Parts(value)) > 0 }

// flat reports whether a value is not nested.
func flat(value any) bool { return !slices.ContainsFunc(cli.Parts(value), nested) }
