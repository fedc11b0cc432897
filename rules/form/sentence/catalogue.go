package sentence

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/quandohq/quando/rules"
)

// A Form is an entry of the catalogue: a sentence, which is true or false, or a value.
type Form struct {
	Key        string  `json:"key"`
	Expression string  `json:"expression"`         // with {blanks}
	Contrary   string  `json:"contrary,omitempty"` // of a sentence
	Blanks     []Blank `json:"blanks,omitempty"`
	Gives      *Type   `json:"-"` // of a value; nil where its blanks decide
	literal    string  // a blank that must be written out for the form to be read
	wraps      bool    // people need not see it
}

// A Type is the type of a value; the checker's.
type Type = rules.Type

// A Blank is a place in a form that a term fills.
type Blank struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // value, span, condition, words, or what it names: calendar, event, label, pattern
}

// sentences are the ways to ask of values, beside the language's own questions.
var sentences = []Form{
	{Key: "always", Expression: "true", Contrary: "false"},
	{Key: "known", Expression: "{x} != nil", Contrary: "{x} == nil"},
	{Key: "is", Expression: "{x} == {y}", Contrary: "{x} != {y}"},
	{Key: "has", Expression: "{item} in {list}", literal: "item"},
	{Key: "one_of", Expression: "{x} in {list}"},
	{Key: "more", Expression: "{x} > {y}"},
	{Key: "least", Expression: "{x} >= {y}"},
	{Key: "less", Expression: "{x} < {y}"},
	{Key: "most", Expression: "{x} <= {y}"},
	{Key: "before", Expression: "{x}.Before({y})"},
	{Key: "after", Expression: "{x}.After({y})"},
	{Key: "contains", Expression: "{x} contains {y}"},
	{Key: "begins", Expression: "{x} startsWith {y}"},
	{Key: "ends", Expression: "{x} endsWith {y}"},
	{Key: "matches", Expression: "{x} matches {pattern}"},
	{Key: "any_item", Expression: "any({list}, {condition})"},
	{Key: "every_item", Expression: "all({list}, {condition})"},
	{Key: "no_item", Expression: "none({list}, {condition})"},
	{Key: "one_item", Expression: "one({list}, {condition})"},
}

// yes is the sentence of a value that is true or false by itself.
var yes = Form{Key: "yes", Expression: "{x}", Contrary: "not {x}"}

// contraries are the questions whose contrary has a name of its own.
var contraries = map[string]string{"open": "closed"}

// values are what is made of values, beside what the language's own functions give.
var values = []Form{
	{Key: "since", Expression: "now() - {time}", Gives: rules.Duration},
	{Key: "ago", Expression: "now() - {duration}", Gives: rules.Time, literal: "duration"},
	{Key: "ahead", Expression: "now() + {duration}", Gives: rules.Time, literal: "duration"},
	{Key: "plus", Expression: "{x} + {y}"},
	{Key: "minus", Expression: "{x} - {y}"},
	{Key: "times", Expression: "{x} * {y}"},
	{Key: "divided", Expression: "{x} / {y}", Gives: rules.Number},
	{Key: "remainder", Expression: "{x} % {y}", Gives: rules.Number},
	{Key: "or_else", Expression: "{x} ?? {y}"},
	{Key: "choice", Expression: "{condition} ? {x} : {y}"},

	{Key: "format", Expression: "{time}.Format({layout})", Gives: rules.Text},
	{Key: "weekday", Expression: "{time}.Weekday().String()", Gives: rules.Text},
	{Key: "weekday_number", Expression: "{time}.Weekday()", Gives: rules.Number},
	{Key: "hour", Expression: "{time}.Hour()", Gives: rules.Number},
	{Key: "minute", Expression: "{time}.Minute()", Gives: rules.Number},
	{Key: "month_day", Expression: "{time}.Day()", Gives: rules.Number},
	{Key: "month", Expression: "{time}.Month().String()", Gives: rules.Text},
	{Key: "month_number", Expression: "{time}.Month()", Gives: rules.Number},
	{Key: "year", Expression: "{time}.Year()", Gives: rules.Number},
	{Key: "date_after", Expression: "{time}.AddDate({years}, {months}, {days})", Gives: rules.Time},
	{Key: "time_after", Expression: "{time}.Add({duration})", Gives: rules.Time},
	{Key: "hours", Expression: "{duration}.Hours()", Gives: rules.Number},
	{Key: "minutes", Expression: "{duration}.Minutes()", Gives: rules.Number},

	{Key: "length", Expression: "len({x})", Gives: rules.Number},
	{Key: "count", Expression: "count({list}, {condition})", Gives: rules.Number},
	{Key: "count_true", Expression: "count({list})", Gives: rules.Number},
	{Key: "those", Expression: "filter({list}, {condition})", Gives: rules.ListOf(rules.Anything)},
	{Key: "find", Expression: "find({list}, {condition})"},
	{Key: "find_last", Expression: "findLast({list}, {condition})"},
	{Key: "first", Expression: "first({list})"},
	{Key: "last", Expression: "last({list})"},
	{Key: "each", Expression: "map({list}, {item})", Gives: rules.ListOf(rules.Anything)},
	{Key: "sum", Expression: "sum({list})", Gives: rules.Number},
	{Key: "sum_each", Expression: "sum({list}, {item})", Gives: rules.Number},
	{Key: "mean", Expression: "mean({list})", Gives: rules.Number},
	{Key: "smallest", Expression: "min({list})"},
	{Key: "largest", Expression: "max({list})"},
	{Key: "joined", Expression: "join({list}, {y})", Gives: rules.Text},
	{Key: "split", Expression: "split({x}, {y})", Gives: rules.ListOf(rules.Text)},
	{Key: "replaced", Expression: "replace({x}, {y}, {z})", Gives: rules.Text},
	{Key: "capitals", Expression: "upper({x})", Gives: rules.Text},
	{Key: "rounded", Expression: "round({x})", Gives: rules.Number},
	{Key: "rounded_down", Expression: "floor({x})", Gives: rules.Number},
	{Key: "rounded_up", Expression: "ceil({x})", Gives: rules.Number},
	{Key: "absolute", Expression: "abs({x})", Gives: rules.Number},

	{Key: "or_text", Expression: `{x} ?? ""`, wraps: true},
	{Key: "or_zero", Expression: `{x} ?? 0`, wraps: true},
	{Key: "or_list", Expression: `{x} ?? []`, wraps: true},
	{Key: "or_no", Expression: `{x} ?? false`, wraps: true},
	{Key: "trim", Expression: `trim({x})`, Gives: rules.Text, wraps: true},
	{Key: "lower", Expression: `lower({x})`, Gives: rules.Text, wraps: true},
	{Key: "int", Expression: `int({x})`, Gives: rules.Number, wraps: true},
	{Key: "float", Expression: `float({x})`, Gives: rules.Number, wraps: true},
	{Key: "string", Expression: `string({x})`, Gives: rules.Text, wraps: true},
}

// before are the forms that must be looked at before others whose expressions fit too.
var before = []string{"known", "has", "ago", "ahead", "since", "or_text", "or_zero", "or_list", "or_no"}

// blankKinds are the kinds of blanks that are more than a value, by their names in the tables.
var blankKinds = map[string]string{"condition": "condition", "pattern": "pattern", "layout": "layout"}

// Sentences returns every sentence of the catalogue.
func Sentences() []Form { return slices.Clone(whole().sentences) }

// Values returns every value of the catalogue, without those that people need not see.
func Values() []Form {
	return slices.DeleteFunc(slices.Clone(whole().values), func(f Form) bool { return f.wraps })
}

// A catalogue has the forms, as they are read and printed.
type catalogue struct {
	sentences, values []Form
	byKey             [2]map[string]*pattern // sentences, values
	byRoot            [2]map[string][]*pattern
}

// whole returns the catalogue. It is made from the tables once.
var whole = sync.OnceValue(func() *catalogue {
	c := &catalogue{sentences: slices.Clone(sentences), values: slices.Clone(values)}
	taken := slices.Collect(maps.Values(contraries))
	for _, f := range rules.Functions() {
		if slices.Contains(taken, f.Name) {
			continue
		}
		form := ofFunction(f)
		if f.Result != rules.Flag {
			c.values = append(c.values, form...)
			continue
		}
		if contrary := contraries[f.Name]; contrary != "" {
			form[0].Contrary = contrary + strings.TrimPrefix(form[0].Expression, f.Name)
		}
		c.sentences = append(c.sentences, form...)
	}
	c.sentences = append(c.sentences, yes)
	for i, list := range [][]Form{c.sentences, c.values} {
		c.byKey[i], c.byRoot[i] = map[string]*pattern{}, map[string][]*pattern{}
		for n := range list {
			c.add(i, &list[n])
		}
		for _, patterns := range c.byRoot[i] {
			slices.SortStableFunc(patterns, func(a, b *pattern) int { return rank(a) - rank(b) })
		}
	}
	return c
})

func rank(p *pattern) int {
	if i := slices.Index(before, p.form.Key); i >= 0 {
		return i - len(before)
	}
	return 0
}

// ofFunction returns the forms of one of the language's functions, by its signature.
func ofFunction(f rules.Function) []Form {
	inside := strings.TrimSuffix(strings.TrimPrefix(f.Signature, f.Name+"("), ")")
	form := Form{Key: f.Name, Gives: f.Result}
	var arguments []string
	for i, name := range strings.Split(inside, ", ") {
		switch name {
		case "":
			continue
		case "…":
			form.Blanks[i-1].Kind = "words"
			continue
		}
		kind := "value"
		if i < len(f.Args) && f.Args[i] != "" {
			kind = f.Args[i]
		}
		if kind == "duration" {
			kind = "span"
		}
		if f.Name == "duration" {
			kind = "value" // what is no literal
		}
		form.Blanks = append(form.Blanks, Blank{name, kind})
		arguments = append(arguments, "{"+name+"}")
	}
	form.Expression = f.Name + "(" + strings.Join(arguments, ", ") + ")"
	out := []Form{form}
	if f.Name == "day" { // its second argument may be left out
		out = append(out, Form{Key: "date_of", Expression: "day({time})", Gives: f.Result, Blanks: form.Blanks[:1]})
	}
	return out
}

// add makes the patterns of a form.
func (c *catalogue) add(which int, f *Form) {
	if f.Blanks == nil {
		for _, m := range blankName.FindAllStringSubmatch(f.Expression, -1) {
			kind := blankKinds[m[1]]
			if kind == "" {
				kind = "value"
			}
			f.Blanks = append(f.Blanks, Blank{m[1], kind})
		}
	}
	p := newPattern(f, f.Expression)
	c.byKey[which][f.Key] = p
	if f.Key == yes.Key {
		p.contrary = newPattern(f, f.Contrary)
		return // it is read where nothing else is
	}
	c.byRoot[which][root(p.tree)] = append(c.byRoot[which][root(p.tree)], p)
	switch {
	case which == 1:
	case f.Contrary == "":
		f.Contrary = p.negated()
		p.contrary = newPattern(f, f.Contrary)
	default:
		p.contrary = newPattern(f, f.Contrary)
		p.contrary.not = true
		at := root(p.contrary.tree)
		c.byRoot[which][at] = append(c.byRoot[which][at], p.contrary)
	}
}
