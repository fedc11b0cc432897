package studio

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/source"
)

// bounds shows the bounds that a rule has, and lists those that it could have.
func (w *writer) bounds(scope sentence.Scope) (list []Bound, more []Option) {
	f := w.form
	limit, gather, late := form.Limit{}, form.Gather{}, form.Late{}
	if f.Limit != nil {
		limit = *f.Limit
	}
	if f.Gather != nil {
		gather = *f.Gather
	}
	if f.Late != nil {
		late = *f.Late
	}
	plain := func(path, picker, value string) *Chip {
		c := &Chip{Path: path, Picker: picker, Value: value}
		c.Words, c.Hand = w.words(value, scope)
		return c
	}
	length := func(path, value string) *Chip {
		c := plain(path, "duration", value)
		c.Words = w.span(value, scope)
		return c
	}
	choice := func(key, value string) *Chip {
		c := plain("/"+key, "choice", value)
		c.Words = w.value(key, value)
		for _, v := range w.keyValues(key) {
			c.Values = append(c.Values, Option{Value: v, Label: w.value(key, v)})
		}
		return c
	}
	value := func(path, text string) *Chip {
		t := sentence.ReadValue(text)
		c := plain(path+"/~value", "value", text)
		c.From, c.Term, c.Hand = "value", t.Kind, len(t.ByHand()) > 0
		c.Words = scope.Chip(w.RulesLanguage(), t)
		if one, ok := idsOf[text]; ok {
			c.Words = w.T("value.each." + one)
		}
		return c
	}
	run := choice("late", late.Run)
	run.Path = "/late/run"
	run.Values = nil
	for _, v := range missed {
		run.Values = append(run.Values, Option{Value: v, Label: w.value("late", v)})
	}
	tags := plain("/tags", "several", strings.Join(f.Tags, ", "))
	tags.Value = f.Tags
	split, isSplit := w.split()
	share := map[string]*Chip{}
	for i, p := range split {
		share[p.Key.Value] = plain("/yaml/sample/~data/"+strconv.Itoa(i), "text", p.Value.Value)
	}
	for _, b := range []struct {
		name, path string
		given      bool
		chips      map[string]*Chip
		optional   map[string]string // those that may be missing, with their values
	}{
		{"limit", "/limit", f.Limit != nil, map[string]*Chip{"times": plain("/limit/times", "number", limit.Times), "per": length("/limit/per", limit.Per), "by": value("/limit/by", limit.By)}, map[string]string{"by": limit.By}},
		{"gather", "/gather", f.Gather != nil, map[string]*Chip{"quiet": length("/gather/quiet", gather.Quiet), "at_most": length("/gather/at_most", gather.AtMost)}, map[string]string{"at_most": gather.AtMost}},
		{"mode", "/mode", f.Mode != "", map[string]*Chip{"mode": choice("mode", f.Mode)}, nil},
		{"late", "/late/skip_after", late.SkipAfter != "", map[string]*Chip{"skip_after": length("/late/skip_after", late.SkipAfter)}, nil},
		{"run", "/late/run", late.Run != "", map[string]*Chip{"run": run}, nil},
		{"by", "/by", f.By != "", map[string]*Chip{"by": value("/by", f.By)}, nil},
		{"from", "/from", f.From != "", map[string]*Chip{"from": choice("from", f.From)}, nil},
		{"claimed", "/claimed", f.Claimed != "", map[string]*Chip{"claimed": choice("claimed", f.Claimed)}, nil},
		{"internal", "/internal", f.Internal != "", map[string]*Chip{"internal": choice("internal", f.Internal)}, nil},
		{"sample", "/sample", f.Sample != "", map[string]*Chip{"sample": plain("/sample", "text", f.Sample)}, nil},
		{"split", "/yaml/sample", isSplit && share["of"] != nil, share, nil},
		{"rest", "/yaml/sample", isSplit && share["rest"] != nil, share, nil},
		{"tags", "/tags", len(f.Tags) > 0, map[string]*Chip{"tags": tags}, nil},
		{"max", "/max", f.Max != "", map[string]*Chip{"max": plain("/max", "number", f.Max)}, nil},
	} {
		if !b.given {
			label := ""
			for _, p := range fill(w.T("bound."+b.name), func(string) []Piece { return []Piece{{Words: "…"}} }) {
				label += p.Words
			}
			key, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(b.path, "/yaml"), "/"), "/")
			if _, held := f.YAML[key]; !held && (b.path != "/yaml/sample" || f.Sample == "") && (b.name != "run" || f.When.Schedule != nil) {
				more = append(more, Option{Value: asJSON([]Edit{{Op: Set, Path: b.path, Value: usual[b.name]}}), Label: label})
			}
			continue
		}
		list = append(list, Bound{Path: b.path, Pieces: fill(w.T("bound."+b.name), func(name string) []Piece {
			if given, optional := b.optional[name]; optional && given == "" {
				return nil
			}
			c := b.chips[name]
			c.Label = w.Or("field."+b.name+".", name)
			if !w.Knows("field." + b.name + "." + name) {
				c.Label = w.Or("field.", name)
			}
			_, c.Clear = b.optional[name]
			return []Piece{{Chip: c}}
		})})
	}
	return list, more
}

// usual are the values that bounds begin with.
var usual = map[string]any{
	"limit": form.Limit{Times: "1", Per: "12h"}, "gather": form.Gather{Quiet: "20s", AtMost: "2m"}, "mode": "single", "late": "30m", "run": "none",
	"split": "{ share: 50%, of: test }", "rest": "{ rest: test }", "tags": []string{"new"},
	"by": "contact.id", "from": "any", "claimed": "run", "internal": "run", "sample": "10%", "max": "10",
}

// split returns how a rule shares what starts it with others, where it does.
func (w *writer) split() ([]source.Pair, bool) {
	n, err := source.ParseValue(w.form.YAML["sample"])
	if err != nil || n.Kind != source.Mapping || n.Get("rest") == nil && (n.Get("share") == nil || n.Get("of") == nil) {
		return nil, false
	}
	wanted := 1
	if n.Get("rest") == nil {
		wanted = 2
	}
	ok := len(n.Pairs) == wanted && !slices.ContainsFunc(n.Pairs, func(p source.Pair) bool { return p.Value.Kind != source.Scalar })
	return n.Pairs, ok
}

func (w *writer) keyValues(key string) []string {
	for _, k := range w.Catalogue.Keys {
		if k.Name == key {
			return k.Values
		}
	}
	return nil
}

// missed are what can be done about the times of a schedule that passed while it was stopped.
var missed = []string{"last", "all", "none"}

// boundKeys are the keys of a rule that the card of its bounds shows.
var boundKeys = []string{"limit", "gather", "mode", "late", "by", "from", "claimed", "internal", "sample", "tags", "max"}

// boundProblems puts problems to the bounds that they are about, and returns those of others.
func (w *writer) boundProblems(list []Bound) (others []Problem) {
	for _, key := range boundKeys {
		found := w.take("/" + key)
		i := slices.IndexFunc(list, func(b Bound) bool {
			path := strings.TrimPrefix(b.Path, "/yaml")
			return path == "/"+key || strings.HasPrefix(path, "/"+key+"/")
		})
		if i < 0 {
			others = append(others, found...)
		} else {
			list[i].Problems = append(list[i].Problems, found...)
		}
	}
	return others
}

// idsOf are the ids by which rules tell apart what they act on, with what each is the id of.
var idsOf = map[string]string{"attendance.id": "attendances", "conversation.id": "conversations", "contact.id": "contacts", "card.id": "cards"}
