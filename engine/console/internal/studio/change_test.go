package studio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/form/sentence"
)

// asTerm returns a chosen value as the page's script sends it.
func asTerm(c Chip, value any) any {
	text := func(v string) sentence.Term { return sentence.Term{Kind: sentence.Text, Text: v} }
	switch v := value.(type) {
	case sentence.Term:
		return v
	case []string:
		if c.Picker == "several" && c.From == "event" && strings.Contains(c.Path, "/args/") && len(v) == 1 {
			return v[0]
		}
		if c.Term == sentence.List {
			list := sentence.Term{Kind: sentence.List}
			for _, item := range v {
				list.List = append(list.List, text(item))
			}
			return list
		}
	case string:
		switch {
		case c.Term == "":
		case c.Picker == "value" && regexp.MustCompile(`^-?\d+(\.\d+)?$`).MatchString(v):
			return sentence.Term{Kind: sentence.Number, Text: v}
		case c.Picker == "value":
			return text(v)
		default:
			return sentence.Term{Kind: c.Term, Text: v}
		}
	}
	return value
}

// valid are values for places that take only some texts.
var valid = []struct {
	place  *regexp.Regexp
	values []string
}{
	{regexp.MustCompile(`^/sample$`), []string{"20%", "30%"}},
	{regexp.MustCompile(`/(timezone|tz)$`), []string{"UTC", "America/Bahia"}},
	{regexp.MustCompile(`/~cron/(minute|hour|day)$`), []string{"2", "3"}},
	{regexp.MustCompile(`/url$`), []string{"https://example.com/a", "https://example.com/b"}},
	{regexp.MustCompile(`/until$`), []string{"{{ next_open('office') }}", "{{ next_close('office') }}"}},
	{regexp.MustCompile(`/(id|args/as)$|sample/~data/1$|^/yaml/sample/~data/0$`), []string{"another", "third"}},
	{regexp.MustCompile(`^/gather/quiet$`), []string{"5s", "10s"}},
	{regexp.MustCompile(`^/gather/at_most$`), []string{"3d", "4d"}},
	{regexp.MustCompile(`/contact$`), []string{"{{ contact.id }}", "{{ vars.word }}"}},
	{regexp.MustCompile(`/accept$`), []string{"404", "409"}},
	{regexp.MustCompile(`/pattern$`), []string{"^[2-4]$", "[0-9]+"}},
	{regexp.MustCompile(`/layout$`), []string{"15:04", "02/01"}},
}

// values are what can be chosen with a picker.
var values = map[string][]string{
	"number": {"7", "9"}, "duration": {"45m", "3h"}, "span": {"45m of office", "3h"}, "times": {"10:15", "11:15"}, "days": {"sat", "sun"}, "time": {"2026-12-25", "2026-12-26"},
	"text": {"another text", "a third one"}, "one": {"Another", "A third"}, "several": {"Another", "A third"},
}

// facts are values that can be chosen, of every type.
var facts = []string{"vars.word", "vars.other", "vars.n", "vars.m", "vars.words", "vars.more", "vars.on", "vars.off", "now()", "next_open('night')", "customer_waiting()", "duration(vars.sla)"}

// others returns values that a chip could be given instead of its own: one, or values of every type
// where the chip does not say which it takes.
func others(r *rand.Rand, c Chip) (list []any) {
	if c.Picker != "value" {
		if value := another(r, c); value != nil {
			list = append(list, value)
		}
		return list
	}
	if c.Value == "messages" || c.Value == "events" {
		return nil // what is asked of their items fits no others
	}
	for _, x := range facts {
		if t := sentence.ReadValue(x); c.Value != t.Text || t.Kind != sentence.Name {
			list = append(list, t)
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// unguarded takes away what people need not see: what stands in for a missing value.
var unguarded = strings.NewReplacer("{{ (", "{{ ", ` ?? "") }}`, " }}", ` ?? '') }}`, " }}")

// another returns a value for a chip that differs from the one that it has; nil if there is none.
func another(r *rand.Rand, c Chip) any {
	pool := values[c.Picker]
	for _, v := range valid {
		if v.place.MatchString(c.Path) {
			pool = v.values
		}
	}
	numeric, _ := c.Value.([]string)
	switch {
	case strings.HasSuffix(fmt.Sprint(c.Value), "%"):
		pool = []string{"20%", "30%"}
	case c.Picker == "several" && c.Term == sentence.List && len(numeric) > 0 && regexp.MustCompile(`^-?\d`).MatchString(numeric[0]):
		pool = []string{"7", "9"}
	case c.Picker == "choice" || c.Picker == "choices":
		pool = nil
		for _, o := range c.Values {
			pool = append(pool, o.Value)
		}
	case c.From == "event" && (c.Picker == "one" || c.Picker == "several"):
		pool = []string{"attendance.opened", "message.sent"}
	case c.From == "calendar" && c.Picker == "one":
		pool = []string{"office", "night"}
	}
	was := fmt.Sprint(c.Value)
	list, isList := c.Value.([]string)
	pool = slices.DeleteFunc(slices.Clone(pool), func(v string) bool { return v == unguarded.Replace(was) || slices.Contains(list, v) })
	if len(pool) == 0 {
		return nil
	}
	chosen := formtest.One(r, pool...)
	if isList || slices.Contains([]string{"several", "choices", "times", "days"}, c.Picker) {
		return []string{chosen}
	}
	return chosen
}

// model returns the model at a place, and the path in it; nil where there is none.
func model(f form.Form, path string) (any, string) {
	at := inForm(path)
	_, into, _ := strings.Cut(path, "/~")
	lens, rest, _ := strings.Cut("~"+into, "/")
	text := leaves(f)[at]
	switch {
	case lens == "~if" && at == "/if":
		return sentence.ReadAll(f.If), "/" + rest
	case lens == "~if":
		return sentence.Read(text), "/" + rest
	case lens == "~value":
		return sentence.ReadValue(text), "/" + rest
	}
	return nil, ""
}

// setChip gives a chip a value, writes the rule and reads it again, and returns what went wrong.
func setChip(text []byte, c Chip, value any) (out []byte, problem string) {
	before, err := form.Read(catalog, text, "made-up")
	if err != nil {
		return nil, err.Error()
	}
	f, err := Apply(before, Edit{Op: Set, Path: c.Path, Value: asTerm(c, value)})
	if err != nil {
		return nil, err.Error()
	}
	if out, err = form.Write(catalog, text, f.ID, f); err != nil {
		return nil, err.Error()
	}
	after, err := form.Read(catalog, out, f.ID)
	if err != nil {
		return nil, err.Error()
	}
	for _, path := range changes(f, after) {
		if !isBelow(path, inForm(c.Path)) { // a list of one is read as it is written
			return out, path + " is not written as it is"
		}
	}
	for _, path := range changes(before, after) {
		if !isBelow(path, inForm(c.Path)) {
			return out, path + " has changed too"
		}
	}
	if was, at := model(before, c.Path); was != nil {
		is, _ := model(after, c.Path)
		for _, path := range changes(was, is) {
			if !isBelow(path, strings.TrimSuffix(at, "/")) {
				return out, path + " of the model has changed too"
			}
		}
	}
	return out, ""
}

// chipsOf returns the chips of a rule by their places.
func chipsOf(text []byte) map[string]Chip {
	out := map[string]Chip{}
	f, err := form.Read(catalog, text, "made-up")
	if err != nil {
		return nil
	}
	for _, s := range everything(maker("en", text).View(f, nil)) {
		if s.chip != nil {
			out[s.path] = *s.chip
		}
	}
	return out
}

// elsewhere returns a place whose chip has another value, although it is not below the one that was
// changed.
func elsewhere(before, after map[string]Chip, at string) string {
	for path, c := range before {
		if _, still := after[path]; !still && inForm(path) == inForm(at) && at != inForm(at) {
			continue // the sentence says it in other words now, and the model is compared
		}
		if !isBelow(path, at) && cmp.Diff(c.Value, after[path].Value) != "" {
			return fmt.Sprintf("%s is %v and was %v", path, after[path].Value, c.Value)
		}
	}
	return ""
}

const same = "it is that already"

// wrongWith gives a chip another value, and returns what is wrong with the rule then.
func wrongWith(text []byte, chips map[string]Chip, c Chip, value any, works bool) string {
	out, problem := setChip(text, c, value)
	if problem != "" {
		return problem
	}
	if bytes.Equal(text, out) {
		return same
	}
	after := chipsOf(out)
	if problem = elsewhere(chips, after, c.Path); problem != "" {
		return problem
	}
	if ok, problems := compiles(out); works && !ok {
		return fmt.Sprintf("it worked before: %v", problems)
	}
	if after[c.Path].Words == c.Words && c.Picker == "value" {
		return same // but for what people need not see, such as a text in place of a missing one
	}
	if after[c.Path].Words == c.Words {
		return "the change is not shown"
	}
	return ""
}

// TestRandomChanges shows that a chip that is given another value changes its own place and no
// other, that the rail then shows the change, that a rule which works goes on working, and that
// giving a chip the value that it has changes no byte.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	count, working, failed := 0, 0, 0
	for n := range wanted() {
		text, _ := random(t, n)
		r := rand.New(rand.NewPCG(*seed+1, uint64(n)))
		works, _ := compiles(text)
		chips := chipsOf(text)
		var paths []string
		for path := range chips {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		for _, path := range paths[:min(3, len(paths))] {
			c := chips[path]
			if path == "/when/schedule/each" && len(slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !isBelow(p, "/when/schedule/where") })) > 0 {
				continue // the filters are those of another list then
			}
			problem := "nothing fits"
			var value any
			for _, value = range others(r, c) {
				problem = wrongWith(text, chips, c, value, works && c.From != "event" && path != "/from" && path != "/when/schedule/each") // other events and lists come without some facts, or start the rule itself
				if problem != same && !strings.HasPrefix(problem, "it worked before") {
					break
				}
			}
			if value == nil {
				continue
			}
			if kept, wrong := setChip(text, c, c.Value); problem == "" && c.Value != nil && c.Picker != "value" && (wrong != "" || !bytes.Equal(kept, text)) {
				problem = fmt.Sprintf("given what it is, it changes: %s\n%s", wrong, cmp.Diff(string(text), string(kept)))
			}
			count++
			if works {
				working++
			}
			if problem != "" {
				failed++
				t.Errorf("case %d: %s (%s) is %v, and is set to %v: %s\n%s", n, path, c.Picker, c.Value, value, problem, text)
			}
		}
		if failed >= 15 {
			break
		}
	}
	t.Logf("%d chips were changed, %d of them of rules that work", count, working)
}
