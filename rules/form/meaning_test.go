package form_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

// meaning returns what the rules parser makes of a rule of a file: all that it does, or what is
// wrong with it.
func meaning(text, id string) string {
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: catalog})
	if r := set.Rule(id); r != nil {
		return ruleWords(r)
	}
	var out []string
	for _, p := range problems {
		// A form does not distinguish a rule without do from one without steps.
		if p.Rule == id && p.Severity == "error" && p.Message != `a rule needs "do"` && p.Message != "there are no steps" {
			out = append(out, p.Message)
		}
	}
	slices.Sort(out)
	return "broken: " + strings.Join(out, "\n")
}

// wanted returns what the rules parser makes of a form that is written in the longest way, in JSON.
func wanted(f form.Form) string {
	head := "vars: { n: 5 }\ncalendars:\n  office: { timezone: UTC, open: { mon-fri: [08:00-18:00] } }\n"
	return meaning(head+"rules: ["+shaper{}.rule(f).flowOfAny()+"]\n", f.ID)
}

func ruleWords(r *rules.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q %q %v %v %v %v %v %v\n", r.ID, r.Name, r.Description, r.Tags, r.Stage, r.Sample, r.FromAny, r.Mode, r.Max, r.Late)
	fmt.Fprintf(&b, "when %v %v\n", r.When.Events, r.When.Manual)
	if s := r.When.Schedule; s != nil {
		fmt.Fprintf(&b, "schedule %v %q %v %v %q %q %s\n", s.Every, s.Cron, s.At, s.On, s.Timezone, s.Each, settings(slices.SortedFunc(slices.Values(s.Where), func(a, b rules.Setting) int { return strings.Compare(a.Name, b.Name) })))
	}
	fmt.Fprintf(&b, "if %s by %s\n", expressionTexts(r.If...), expressionTexts(r.By))
	if g := r.Gather; g != nil {
		fmt.Fprintln(&b, "gather", *g)
	}
	if l := r.Limit; l != nil {
		fmt.Fprintln(&b, "limit", l.Times, l.Per, expressionTexts(l.By))
	}
	for _, m := range r.CancelOn {
		fmt.Fprintln(&b, "cancel", m.Event, expressionTexts(m.If))
	}
	for s := range r.Steps() {
		fmt.Fprintf(&b, "%s %s id %q if %s retry %v on_error %s even if muted %v off %v\n", s.Path, s.Verb, s.ID, expressionTexts(s.If), s.Retry, s.OnError, s.EvenIfMuted, s.Off)
		fmt.Fprintf(&b, "  %s %v %v in %s as %q max %d\n", expressionTexts(s.Condition, s.In), s.Events, s.Span, expressionTexts(s.In), s.As, s.MaxItems)
		for _, branch := range s.Branches {
			fmt.Fprintf(&b, "  branch %s %d\n", expressionTexts(branch.If), len(branch.Do))
		}
		var args []string
		for name, v := range s.Args {
			args = append(args, name+" "+valueWords(v))
		}
		slices.Sort(args)
		fmt.Fprintf(&b, "  %s\n  %s\n", args, settings(s.Assignment))
	}
	return b.String()
}

func expressionTexts(list ...*rules.Expression) string {
	var out []string
	for _, x := range list {
		if x != nil {
			out = append(out, x.Text)
		}
	}
	return fmt.Sprintf("%q", out)
}

func settings(list []rules.Setting) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name+" "+valueWords(s.Value))
	}
	return strings.Join(out, "; ")
}

func valueWords(v *rules.Value) string {
	if c, ok := v.Constant(); ok {
		return fmt.Sprintf("%T %#v", c, c)
	}
	return fmt.Sprintf("%q", v.String())
}
