package learn

import (
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// Check reports paths of event.data that rules read and no recorded event of their types has, and
// comparisons with kinds that never occurred. It skips a rule without recorded events of its types.
func Check(set *rules.Set, shapes Shapes) rules.Problems {
	var problems rules.Problems
	for _, u := range set.DataUses() {
		var seen []string
		events := 0
		for _, typ := range u.Events {
			if s := shapes[typ]; s != nil && !slices.Contains(seen, typ) {
				seen = append(seen, typ)
				events += s.Events
			}
		}
		if len(seen) == 0 {
			continue
		}
		at := strings.Join(u.Path, ".")
		if i := missing(shapes, seen, u.Path); i < len(u.Path) {
			message := phrases.Sprintf("no recorded event has event.data.%s (%s: %d)", strings.Join(u.Path[:i+1], "."), strings.Join(seen, ", "), events)
			problems = append(problems, u.Problem(i, message, hint(shapes, seen, u.Path, i)))
			continue
		}
		if was := otherwise(shapes, seen, at, u.Compared); was != nil {
			problems = append(problems, u.Problem(len(u.Path)-1, phrases.Sprintf("event.data.%s is compared with %s, and was %s in all recorded events", at, u.Compared, was), nil))
		}
	}
	return problems
}

// missing returns the index of the first name of a path that was never present, in any of the
// types; past the last if all were.
func missing(shapes Shapes, types, names []string) int {
	most := 0
	for _, typ := range types {
		most = max(most, shapes[typ].reach(names))
	}
	return most
}

// reach returns how many names of a path were ever present. What is below a list, or below
// something always empty, is unknown.
func (s *Shape) reach(names []string) int {
	for i := range names {
		p, ok := s.has(strings.Join(names[:i+1], "."))
		if !ok {
			return i
		}
		if p.kinds[Object] == nil && (p.kinds[List] != nil || p.only(Nothing)) {
			return len(names)
		}
	}
	return len(names)
}

// only reports whether no other kinds were seen.
func (p *path) only(kinds ...string) bool {
	for name := range p.kinds {
		if !slices.Contains(kinds, name) {
			return false
		}
	}
	return true
}

// hint suggests a path for one whose i-th name was never present: a similar name there, or the same
// name elsewhere.
func hint(shapes Shapes, types, names []string, i int) *phrases.Message {
	var meant []string
	for _, typ := range types {
		if near := source.Near(names[i], shapes[typ].below(strings.Join(names[:i], "."))); near != "" {
			meant = slices.Concat(names[:i], []string{near}, names[i+1:])
			if shapes[typ].reach(meant) == len(meant) {
				break
			}
			meant = meant[:i+1]
		}
	}
	if meant != nil {
		return phrases.Sprintf("did you mean %q?", "event.data."+strings.Join(meant, "."))
	}
	last := names[len(names)-1]
	for _, typ := range types {
		for _, p := range shapes[typ].Paths() {
			if strings.HasSuffix("."+p.Path, "."+last) && !strings.Contains(p.Path, "[") {
				return phrases.Sprintf("did you mean %q?", "event.data."+p.Path)
			}
		}
	}
	return nil
}

// otherwise describes the kind that a path always had, if that can never equal what it is compared
// with.
func otherwise(shapes Shapes, types []string, at string, compared *rules.Type) (was *phrases.Message) {
	if compared == nil {
		return nil
	}
	var all []*rules.Type
	for _, typ := range types {
		p, ok := shapes[typ].has(at)
		if !ok {
			continue
		}
		for kind := range p.kinds {
			t := typeOf(kind)
			if t == compared || kind == Nothing {
				if t == compared {
					return nil
				}
				continue
			}
			if !slices.ContainsFunc(all, func(other *rules.Type) bool { return other.String() == t.String() }) {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b *rules.Type) int { return strings.Compare(a.String(), b.String()) })
	for _, t := range all {
		if was == nil {
			was = phrases.Sprintf("%s", t)
		} else {
			was = phrases.Sprintf("%s or %s", was, t)
		}
	}
	return was
}

// typeOf returns the type that expressions see of a kind of values.
func typeOf(kind string) *rules.Type {
	switch kind {
	case Flag:
		return rules.Flag
	case Number:
		return rules.Number
	case Object:
		return rules.Object()
	case List:
		return rules.ListOf(rules.Anything)
	}
	return rules.Text
}
