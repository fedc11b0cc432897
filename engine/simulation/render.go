package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// YAML writes rules as a file of the language, with the calendars of every made-up desk.
//
// What scenario.go leaves open is written so:
//
//	send_message, create_card     "<rule>/<step> <Text> #{{ event.id }}" as text and title
//	transfer, close_attendance    the same as reason
//	log, stop                     "<rule>/<step> <Text>"
//	create_card                   with the run's contact and conversation, where there are any
//	find_card                     board, and the customer's phone number as q: the newest card
//	update_card                   "<rule>/<step> <Name2> #{{ event.id }}" as the description
//	update_conversation           pinned is Flag; name is Name2, where it is given
//	open_conversation             to the phone number of To, from the number Main
//	send_message with To          the same
//	set_sector without a sector   null
//	read_messages                 the newest five
//	set                           note: Text
func (s *Scenario) YAML(rules []Rule) []byte {
	w := &writer{scenario: s}
	w.text.WriteString(calendarsYAML)
	if len(rules) == 0 {
		w.line(0, "rules: []")
	} else {
		w.line(0, "rules:")
	}
	for i := range rules {
		w.rule(&rules[i])
	}
	return []byte(w.text.String())
}

const calendarsYAML = `calendars:
  office:
    timezone: America/Sao_Paulo
    open:
      mon-fri: [08:00-12:00, 13:30-18:00]
      sat: [09:00-13:00]
    holidays: [2026-11-20]
  night:
    timezone: America/Sao_Paulo
    open:
      daily: [22:00-06:00]
`

// A writer writes rules, a line at a time.
type writer struct {
	scenario *Scenario
	current  *Rule
	text     strings.Builder
}

// line writes a line at a depth.
func (w *writer) line(depth int, format string, args ...any) {
	w.text.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
}

func (w *writer) rule(r *Rule) {
	w.current = r
	w.line(1, "- id: %s", r.ID)
	if r.Stage != "" {
		w.line(2, "stage: %s", r.Stage)
	}
	switch {
	case r.Split != "" && r.Sample == 0:
		w.line(2, "sample: { rest: %s }", r.Split)
	case r.Split != "":
		w.line(2, "sample: { share: %d%%, of: %s }", r.Sample, r.Split)
	case r.Sample > 0:
		w.line(2, "sample: %d%%", r.Sample)
	}
	w.line(2, "when: %s", whenYAML(&r.When))
	if r.FromAny {
		w.line(2, "from: any")
	}
	if r.Claimed {
		w.line(2, "claimed: run")
	}
	if g := r.Gather; g != nil {
		if g.AtMost > 0 {
			w.line(2, "gather: { quiet: %s, at_most: %s }", length(g.Quiet), length(g.AtMost))
		} else {
			w.line(2, "gather: { quiet: %s }", length(g.Quiet))
		}
	}
	if len(r.If) > 0 {
		w.line(2, "if:")
		for i := range r.If {
			w.line(3, "- %s", expression(&r.If[i]))
		}
	}
	w.ruleKeys(r)
	w.line(2, "do:")
	w.steps(3, r.Do)
	if len(r.OnError) > 0 {
		w.line(2, "on_error:")
		w.steps(3, r.OnError)
	}
}

// ruleKeys writes the keys between the conditions and the steps.
func (w *writer) ruleKeys(r *Rule) {
	if r.By != "" {
		w.line(2, "by: %s", r.By)
	}
	if r.Mode != "" {
		w.line(2, "mode: %s", r.Mode)
	}
	if l := r.Limit; l != nil {
		by := ""
		if l.By != "" {
			by = ", by: " + l.By
		}
		w.line(2, "limit: { times: %d, per: %s%s }", l.Times, length(l.Per), by)
	}
	switch {
	case r.Late.Run != "":
		w.line(2, "late: { run: %s }", r.Late.Run)
	case r.Late.SkipAfter < 0:
		w.line(2, "late: { skip_after: none }")
	case r.Late.SkipAfter > 0:
		w.line(2, "late: { skip_after: %s }", length(r.Late.SkipAfter))
	}
	if r.Max > 0 {
		w.line(2, "max: %d", r.Max)
	}
	if len(r.CancelOn) > 0 {
		w.line(2, "cancel_on:")
		for _, m := range r.CancelOn {
			if m.If == nil {
				w.line(3, "- %s", m.Event)
				continue
			}
			w.line(3, "- event: %s", m.Event)
			w.line(4, "if: %s", expression(m.If))
		}
	}
}

// whenYAML writes what starts a rule.
func whenYAML(when *When) string {
	each := ""
	switch when.Each {
	case "attendances":
		each = ", each: attendances, where: { status: open }"
	case "cards":
		each = ", each: cards, where: { board: Deals, status: open }"
	}
	switch {
	case when.Manual:
		return "manual"
	case when.Every > 0:
		return fmt.Sprintf("{ every: %s%s }", length(when.Every), each)
	case when.At != "":
		return fmt.Sprintf("{ at: %s%s }", quoted(when.At), each)
	case len(when.Events) == 1:
		return when.Events[0]
	}
	return "[" + strings.Join(when.Events, ", ") + "]"
}

func (w *writer) steps(depth int, steps []Step) {
	for i := range steps {
		w.step(depth, &steps[i])
	}
}

// step writes a step: its verb behind the dash, and beneath it what goes with it.
func (w *writer) step(depth int, s *Step) {
	verb := func(format string, args ...any) { w.line(depth, "- %s: "+format, append([]any{s.Verb}, args...)...) }
	marked := func(text string) string { return quoted(w.own(s, text) + " #{{ event.id }}") }
	switch s.Verb {
	case "send_message":
		if s.To == "" {
			verb("%s", marked(s.Text))
		} else {
			verb("{ to: { phone: %s, channel: Main }, text: %s }", quoted(w.scenario.phoneOf(s.To)), marked(s.Text))
		}
	case "open_conversation":
		verb("{ channel: Main, phone: %s }", quoted(w.scenario.phoneOf(s.To)))
	case "transfer":
		to := ""
		if s.Person != "" {
			to += "person: " + s.Person + ", "
		}
		if s.Sector != "" {
			to += "sector: " + s.Sector + ", "
		}
		verb("{ %sreason: %s }", to, marked(s.Text))
	case "set_sector":
		if s.Sector == "" {
			verb("null")
		} else {
			verb("%s", s.Sector)
		}
	case "add_labels", "remove_labels", "set_labels":
		verb("[%s]", strings.Join(s.Labels, ", "))
	case "update_conversation":
		name := ""
		if s.Name2 != "" {
			name = ", name: " + quoted(s.Name2)
		}
		verb("{ pinned: %t%s }", s.Flag, name)
	case "close_attendance":
		verb("%s", marked(s.Text))
	case "read_messages":
		verb("5")
	case "set":
		verb("{ note: %s }", quoted(s.Text))
	case "log", "stop":
		verb("%s", quoted(w.own(s, s.Text)))
	case "create_card", "find_card", "move_card", "update_card":
		verb("{ %s }", w.card(s, marked))
	case "wait", "wait_for", "stop_if", "choose", "for_each":
		w.control(depth, s)
	default: // mark_read, read_conversation, read_attendance
		w.line(depth, "- %s:", s.Verb)
	}
	w.beside(depth+1, s)
}

// own is a text with the rule and the step that write it.
func (w *writer) own(s *Step, text string) string {
	return strings.TrimRight(w.current.ID+"/"+s.Name+" "+text, " ")
}

// card writes the arguments of a verb of cards.
func (w *writer) card(s *Step, marked func(string) string) string {
	switch s.Verb {
	case "create_card":
		args := "board: " + s.Board
		if s.Stage != "" {
			args += ", stage: " + s.Stage
		}
		args += ", title: " + marked(s.Text)
		if when := &w.current.When; when.Each != "" || when.Every == 0 && when.At == "" {
			args += `, contact: "{{ contact.id }}", conversation: "{{ conversation.id }}"`
		}
		return args
	case "find_card":
		return "board: " + s.Board + `, q: "{{ contact.phone }}"`
	case "move_card":
		if s.OnlyFrom != "" {
			return "to: " + s.Stage + ", only_from: " + s.OnlyFrom
		}
		return "to: " + s.Stage
	}
	return "description: " + marked(s.Name2)
}

// control writes the language's own verbs.
func (w *writer) control(depth int, s *Step) {
	span := length(s.Wait)
	if s.Calendar != "" {
		span += " of " + s.Calendar
	}
	switch s.Verb {
	case "wait":
		if s.Until != "" {
			w.line(depth, "- wait: { until: %s }", scalar(fmt.Sprintf("next_open(%q)", s.Until)))
		} else {
			w.line(depth, "- wait: %s", span)
		}
	case "wait_for":
		w.line(depth, "- wait_for:")
		w.line(depth+3, "event: [%s]", strings.Join(s.Events, ", "))
		if s.Cond != nil {
			w.line(depth+3, "if: %s", expression(s.Cond))
		}
		w.line(depth+3, "timeout: %s", span)
		if !s.Claims {
			w.line(depth+3, "claim: false")
		}
	case "stop_if":
		w.line(depth, "- stop_if: %s", expression(s.Cond))
	case "choose":
		w.line(depth, "- choose:")
		for _, b := range s.Branches {
			if b.If == nil {
				w.line(depth+3, "- else:")
			} else {
				w.line(depth+3, "- if: %s", expression(b.If))
				w.line(depth+4, "do:")
			}
			w.steps(depth+5, b.Do)
		}
	case "for_each":
		w.line(depth, "- for_each:")
		items := make([]string, len(s.Items))
		for i, item := range s.Items {
			items[i] = strconv.Quote(item)
		}
		w.line(depth+3, "in: %s", scalar("["+strings.Join(items, ", ")+"]"))
		w.line(depth+3, "as: item")
		w.line(depth+3, "do:")
		w.steps(depth+4, s.Do)
	}
}

// beside writes the modifiers of a step.
func (w *writer) beside(depth int, s *Step) {
	if s.ID != "" {
		w.line(depth, "id: %s", s.ID)
	}
	if s.If != nil {
		w.line(depth, "if: %s", expression(s.If))
	}
	if s.Retry > 0 {
		w.line(depth, "retry: { times: %d }", s.Retry)
	}
	if s.Continue {
		w.line(depth, "on_error: continue")
	}
}

// expression writes a condition as a YAML value.
func expression(c *Cond) string { return scalar(condition(c)) }

// condition writes a condition as an expression; none is true.
func condition(c *Cond) string {
	if c == nil {
		return "true"
	}
	text := positive(c)
	if c.Not {
		if c.Kind == CondAny || c.Kind == CondAll {
			return "not " + text
		}
		return "not (" + text + ")"
	}
	return text
}

// positive writes a condition without its not.
func positive(c *Cond) string {
	joined := func(word, none string) string {
		if len(c.Of) == 0 {
			return none
		}
		parts := make([]string, len(c.Of))
		for i := range c.Of {
			parts[i] = condition(&c.Of[i])
		}
		return "(" + strings.Join(parts, " "+word+" ") + ")"
	}
	lasts := strconv.Quote(length(c.For))
	switch c.Kind {
	case CondAny:
		return joined("or", "(1 == 2)")
	case CondAll:
		return joined("and", "(1 == 1)")
	case CondSays:
		return fmt.Sprintf("says(%q)", c.Text)
	case CondTextIs:
		return fmt.Sprintf("message.text == %q", c.Text)
	case CondByTeam:
		return `message.by == "team"`
	case CondTypeIs:
		return fmt.Sprintf("event.type == %q", c.Text)
	case CondOpen:
		return fmt.Sprintf("open(%q)", c.Text)
	case CondHasLabel:
		return fmt.Sprintf("has_label(%q)", c.Text)
	case CondHumanActive:
		return fmt.Sprintf("human_active(%s)", lasts)
	case CondWaiting:
		return fmt.Sprintf("customer_waiting() > duration(%s)", lasts)
	case CondAttendanceOpen:
		return `attendance.status == "open"`
	case CondAnswered:
		return "attendance.first_response != nil"
	case CondAssigned:
		return "conversation.assignee != nil"
	case CondSector:
		if c.Text == "" {
			return "conversation.sector_name == nil"
		}
		return fmt.Sprintf("conversation.sector_name == %q", c.Text)
	case CondCount:
		return fmt.Sprintf("count_events(%q, %s) >= %d", c.Text, lasts, c.N)
	case CondStage:
		return fmt.Sprintf("card.stage_name == %q", c.Text)
	case CondBusiness:
		return fmt.Sprintf("business_time(%q, attendance.opened_at, now()) > duration(%s)", c.Text, lasts)
	case CondNoAnswer:
		return c.Text + " == nil"
	case CondAnswerIs:
		id, text, _ := strings.Cut(c.Text, "=")
		return fmt.Sprintf("%s?.message?.text == %q", id, text)
	case CondMany:
		return fmt.Sprintf("len(messages) >= %d", c.N)
	}
	return "true"
}

// scalar writes an expression as a YAML value, in quotes if needed.
func scalar(text string) string {
	if strings.ContainsAny(text, ":#'") || strings.HasPrefix(text, "[") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}

// quoted writes a text as a YAML value.
func quoted(text string) string { return strconv.Quote(text) }

// length writes a duration as the language does: 90s is 1m30s, 72h stays so.
func length(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// phoneOf returns the phone number of a customer or, for an unknown name, the expression for that
// of the run's own.
func (s *Scenario) phoneOf(customer string) string {
	i := slices.Index(s.Customers, customer)
	switch {
	case customer == Nobody:
		return "999"
	case i < 0:
		return "{{ contact.phone }}"
	}
	return fmt.Sprintf("+55119000000%02d", i)
}
