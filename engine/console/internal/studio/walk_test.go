package studio

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
)

// A shown is one thing on the rail: words, or a chip, at a place of the rule.
type shown struct {
	path  string
	words string
	chip  *Chip
	hand  bool
}

// everything returns all that a rail shows, in its order.
func everything(v View) []shown {
	w := &walk{}
	w.card(v.When)
	w.condition(v.If)
	w.steps(v.Do)
	for _, e := range v.Cancel {
		w.chip(e.Events)
		w.condition(e.If)
	}
	for _, b := range v.Bounds {
		w.pieces(b.Path, b.Pieces)
	}
	w.steps(v.OnError)
	for _, c := range v.Hand {
		w.chip(c)
	}
	return w.list
}

type walk struct{ list []shown }

func (w *walk) add(s shown) { w.list = append(w.list, s) }

func (w *walk) chip(c Chip) {
	w.add(shown{path: c.Path, words: strings.TrimSpace(c.Label + " " + c.Words), chip: &c, hand: c.Hand || c.Picker == "hand"})
}

func (w *walk) pieces(path string, list []Piece) {
	for _, p := range list {
		if p.Chip != nil {
			w.chip(*p.Chip)
		} else {
			w.add(shown{path: path + "/~words", words: p.Words})
		}
	}
}

func (w *walk) condition(c *Condition) {
	if c == nil {
		return
	}
	w.add(shown{path: c.Path, hand: c.Hand})
	for i := range c.Of {
		w.condition(&c.Of[i])
	}
	w.pieces(c.Path, c.Pieces)
}

func (w *walk) card(c Card) {
	w.pieces(c.Path, c.Pieces)
	for _, chip := range c.More {
		w.chip(chip)
	}
	if c.Off {
		w.add(shown{path: c.Path + "/enabled"})
	}
	if c.Hand != nil {
		w.chip(*c.Hand)
	}
	if t := c.Text; t != nil {
		for _, p := range t.Parts {
			w.add(shown{path: t.Path, words: p.Words, hand: p.Hand})
		}
	}
	w.condition(c.Question)
	w.condition(c.If)
	for _, b := range c.Branches {
		w.condition(b.If)
		w.steps(b.Do)
	}
	if c.Loop != nil {
		w.steps(*c.Loop)
	}
}

func (w *walk) steps(s Steps) {
	for _, c := range s.Cards {
		w.card(c)
	}
}

// leaves returns every value of a form or a model by its path, in which arguments are named.
func leaves(model any) map[string]string {
	text, err := json.Marshal(model)
	if err != nil {
		panic(err) // forms and models are JSON
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		panic(err)
	}
	out := map[string]string{}
	collect(out, "", root)
	return out
}

func collect(out map[string]string, path string, at any) {
	switch v := at.(type) {
	case map[string]any:
		for name, inner := range v {
			collect(out, path+"/"+name, inner)
		}
	case []any:
		for i, inner := range v {
			name := strconv.Itoa(i)
			key := path[strings.LastIndexByte(path, '/')+1:]
			if arg, ok := inner.(map[string]any); ok && hasNames(key) {
				name = arg["name"].(string)
			}
			collect(out, path+"/"+name, inner)
		}
		if len(v) == 0 {
			out[path] = "[]"
		}
	default:
		out[path] = fmt.Sprint(v)
	}
}

// changes returns the places at which two forms or models differ.
func changes(a, b any) (list []string) {
	before, after := leaves(a), leaves(b)
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after[path] != before[path] {
			list = append(list, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if _, was := before[path]; !was {
			list = append(list, path)
		}
	}
	return list
}

// inForm returns the part of a path that leads through the form, not into a model.
func inForm(path string) string {
	if at := strings.Index(path, "/~"); at >= 0 {
		path = path[:at]
	}
	if strings.Contains(path, "/args/") || strings.Contains(path, "/where/") {
		path = strings.TrimSuffix(path, "/yaml") // how an argument is given changes with it
	}
	return path
}

func isBelow(path, above string) bool { return path == above || strings.HasPrefix(path, above+"/") }

// hidden returns what a form says that its rail does not show.
func hidden(f form.Form, list []shown) (out []string) {
	at := map[string]bool{}
	for _, s := range list {
		at[inForm(s.path)] = at[inForm(s.path)] || !strings.HasSuffix(s.path, "/~words")
	}
	for _, path := range slices.Sorted(maps.Keys(leaves(f))) {
		if name := path[strings.LastIndexByte(path, '/')+1:]; slices.Contains([]string{"verb", "as", "name", "else"}, name) || slices.Contains([]string{"/id", "/stage", "/description"}, path) {
			continue // the sentence, how a value is given, and what stands above the rail
		}
		above := path
		for above != "" && !at[above] {
			above = above[:strings.LastIndexByte(above, '/')]
		}
		if above == "" {
			out = append(out, path)
		}
	}
	return out
}
