package editor

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
)

// Check returns the problems of a file by itself and with the calendars of others, and what it is
// compiled to. What rules of different files have to do with each other is not looked at.
func Check(ctx context.Context, file *rules.File, others []*rules.File, o rules.Options) (*rules.Set, rules.Problems, error) {
	set, problems, err := rules.CompileContext(ctx, file.Beside(others), o)
	if err != nil {
		return nil, nil, err
	}
	return set, slices.DeleteFunc(problems, func(p rules.Problem) bool { return p.File != file.Name }), nil
}

// Checked is a text with its problems.
type Checked struct {
	Text     string
	Problems rules.Problems
}

// Recheck returns the problems of a text that was changed inside of one rule, of one test, of the
// variables or of the calendars since it was checked: only that part is compiled anew, so that it
// takes the same time in a file of any size; a test needs the rules. What a part has to do with
// others is left to a check of everything. It reports false where something else was changed, or
// the text is no YAML.
func Recheck(ctx context.Context, name string, before Checked, text string, others []*rules.File, o rules.Options) (rules.Problems, bool) {
	was, now := strings.Split(before.Text, "\n"), strings.Split(text, "\n")
	from, behind := changedLines(was, now)
	old, ok := partAround(was, from, len(was)-behind)
	changed, ok2 := partAround(now, from, len(now)-behind)
	if !ok || !ok2 || old.from != changed.from || len(was)-old.to != len(now)-changed.to {
		return nil, false
	}
	file := rules.Parse(name, []byte(onlyPart(now, changed)))
	if len(file.Problems) > 0 {
		return nil, false
	}
	_, found, err := Check(ctx, file, others, o)
	if err != nil {
		return nil, false
	}
	list := slices.DeleteFunc(found, func(p rules.Problem) bool { return !changed.has(p.Line) })
	for _, p := range before.Problems {
		if old.has(p.Line) {
			continue
		}
		if p.Line > old.to {
			p.Line += changed.to - old.to
		}
		list = append(list, p)
	}
	return list.Sort(), true
}

// changedLines returns the first line that differs, and how many at the end do not.
func changedLines(was, now []string) (from, behind int) {
	least := min(len(was), len(now))
	for from < least && was[from] == now[from] {
		from++
	}
	for behind < least-from && was[len(was)-1-behind] == now[len(now)-1-behind] {
		behind++
	}
	return from, behind
}

// lines are some lines of a text, counted from 0; the last is not among them.
type lines struct{ from, to int }

func (l lines) has(line int) bool { return line > l.from && line <= l.to }

var topKey = regexp.MustCompile(`^[^\s#-]`)

// partsOf finds by indentation alone the lines of each rule and of each test, and of what rules
// share.
func partsOf(text []string) (rules, tests, shared []lines) {
	key, begin, indent := "", 0, -1
	end := func(at int) {
		switch part := (lines{begin, at}); {
		case key == "rules" && indent >= 0:
			rules = append(rules, part)
		case key == "tests" && indent >= 0:
			tests = append(tests, part)
		case key == "vars" || key == "calendars":
			shared = append(shared, part)
		}
		begin = at
	}
	for i, line := range text {
		body := strings.TrimLeft(line, " ")
		at := len(line) - len(body)
		switch isItem := strings.HasPrefix(body, "- ") || body == "-"; {
		case topKey.MatchString(line):
			end(i)
			key, _, _ = strings.Cut(line, ":")
			indent = -1
		case isItem && (key == "rules" || key == "tests") && (indent < 0 || at <= indent):
			end(i)
			indent = at
		}
	}
	end(len(text))
	return rules, tests, shared
}

// partAround returns the rule or the test that lines are in, or the variables or calendars.
func partAround(text []string, from, to int) (lines, bool) {
	for _, l := range slices.Concat(partsOf(text)) {
		if l.from <= from && to <= l.to && from < l.to {
			return l, true
		}
	}
	return lines{}, false
}

// onlyPart returns a text with one of its rules, or one of its tests and all rules, or neither, in
// its place.
func onlyPart(text []string, part lines) string {
	out := slices.Clone(text)
	rules, tests, _ := partsOf(text)
	others := tests
	if !slices.Contains(tests, part) {
		others = append(others, rules...)
	}
	for _, l := range others {
		if l != part {
			for i := l.from; i < l.to; i++ {
				out[i] = ""
			}
		}
	}
	return strings.Join(out, "\n")
}
