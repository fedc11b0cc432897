package studio

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/form/sentence"
)

// A Change is one difference between two versions of a rule, in words.
type Change struct {
	Where string     // such as step 1
	Kind  ChangeKind // what was done there
	Spans []Span     // the sentence, with the words that went and those that came
}

// A ChangeKind says what was done to a sentence of a rule.
type ChangeKind string

// The kinds of changes.
const (
	Changed ChangeKind = "changed"
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Moved   ChangeKind = "moved"
)

// A Span is words that two versions share, or that one of them has.
type Span struct {
	Mark  string // - is in the earlier version, + in the later; empty is in both
	Words string
}

// Space returns the space before the words.
func (s Span) Space() string { return s.Words[:len(s.Words)-len(s.Bare())] }

// Bare returns the words without the space before them.
func (s Span) Bare() string { return strings.TrimLeft(s.Words, " \n") }

// shortest is how many characters of a sentence the short form of a change shows.
const shortest = 48

// A line is a sentence of a rule, and where it stands.
type line struct {
	where string
	key   string // sentences of the same key can be versions of each other
	words string
}

// Changes compares two versions of a rule. Sentences that stand in both are left out.
func (m *Maker) Changes(before, after View) (list []Change) {
	a, b := m.sections(before), m.sections(after)
	for i := range a {
		list = append(list, m.compare(a[i], b[i])...)
	}
	return list
}

// sections returns the sentences of a rule in the parts that are compared with each other.
func (m *Maker) sections(v View) [][]line {
	one := func(where, words string) []line {
		if words == "" {
			return nil
		}
		return []line{{where, where, words}}
	}
	var cancel, bounds []line
	for _, e := range v.Cancel {
		words := e.Events.Words
		if e.If != nil {
			words += " " + m.T("studio.if") + " " + m.conditionWords(*e.If)
		}
		cancel = append(cancel, line{m.T("studio.early"), "cancel", words})
	}
	for _, b := range v.Bounds {
		bounds = append(bounds, line{m.T("studio.bounds"), b.Path, b.Words()})
	}
	for _, chip := range v.Hand {
		bounds = append(bounds, line{m.T("studio.bounds"), chip.Path, chip.Words})
	}
	return [][]line{
		one(m.T("studio.name"), v.Name), one(m.T("studio.id"), v.ID), one(m.T("field.description"), v.Description), one(m.T("studio.stage"), m.Or("stage.", v.Stage)),
		one(m.T("studio.when"), m.cardWords(v.When)), m.conditionLines(v.If), m.stepLines("", v.Do), cancel, bounds, m.stepLines(m.T("studio.fails")+", ", v.OnError),
	}
}

// conditionLines returns the conditions that must all be true, one by one.
func (m *Maker) conditionLines(c *Condition) (list []line) {
	if c == nil {
		return nil
	}
	all := []Condition{*c}
	if c.Group == sentence.All {
		all = c.Of
	}
	for _, part := range all {
		list = append(list, line{m.T("studio.only_if"), "if", m.conditionWords(part)})
	}
	return list
}

// conditionWords says a condition, also a group, in words.
func (m *Maker) conditionWords(c Condition) string {
	if c.Group == "" {
		return c.Words()
	}
	var said []string
	for _, part := range c.Of {
		words := m.conditionWords(part)
		if part.Group != "" {
			words = "(" + words + ")"
		}
		said = append(said, words)
	}
	switch c.Group {
	case sentence.All:
		return strings.Join(said, " "+m.T("form.and")+" ")
	case sentence.None:
		return m.T("studio.group.none") + ": " + strings.Join(said, " "+m.T("studio.or")+" ")
	}
	return strings.Join(said, " "+m.T("studio.or")+" ")
}

// stepLines returns the steps of a list with those inside of them. Prefix stands before the number
// of each.
func (m *Maker) stepLines(prefix string, s Steps) (list []line) { return m.numbered(prefix, "", s) }

func (m *Maker) numbered(prefix, above string, s Steps) (list []line) {
	for _, c := range s.Cards {
		number := above + strconv.Itoa(c.N)
		where := prefix + m.T("change.step", number)
		list = append(list, line{where, c.Verb, m.cardWords(c)})
		for _, b := range c.Branches {
			words := m.T("studio.otherwise")
			if !b.Else {
				words = m.T("studio.if") + " " + m.conditionWords(*b.If)
			}
			list = append(list, line{where, "way", words})
			list = append(list, m.numbered(prefix, number+".", b.Do)...)
		}
		if c.Loop != nil {
			list = append(list, m.numbered(prefix, number+".", *c.Loop)...)
		}
	}
	return list
}

// cardWords says a card with everything that it has, but for the steps inside of it.
func (m *Maker) cardWords(c Card) string {
	words := c.Words()
	if c.Hand != nil {
		words = c.Hand.Words
	}
	for _, chip := range c.More {
		words += ", " + strings.TrimSpace(chip.Label+" "+chip.Words)
	}
	if c.Question != nil && !c.Question.IsEmpty() {
		words += " " + m.conditionWords(*c.Question)
	}
	if c.If != nil {
		words += ", " + m.T("studio.and_if") + " " + m.conditionWords(*c.If)
	}
	if c.Text != nil {
		words += ": “"
		for _, p := range c.Text.Parts {
			words += p.Words
		}
		words += "”"
	}
	return words
}

// compare returns the changes from one list of sentences to another.
func (m *Maker) compare(a, b []line) (list []Change) {
	wordsOf := func(l line) string { return l.key + "\x00" + l.words }
	i, j := 0, 0
	for _, same := range append(common(a, b, wordsOf), [2]int{len(a), len(b)}) {
		list = append(list, m.gap(a[i:same[0]], b[j:same[1]])...)
		i, j = same[0]+1, same[1]+1
	}
	return withMoves(list)
}

// gap returns the changes of sentences between two that stayed.
func (m *Maker) gap(a, b []line) (list []Change) {
	taken := make([]bool, len(b))
	next := 0 // sentences before this one of b were told
	add := func(until int) {
		for ; next < until; next++ {
			if !taken[next] {
				list = append(list, Change{b[next].where, Added, []Span{{"+", b[next].words}}})
			}
		}
	}
	for _, was := range a {
		k := slices.IndexFunc(b[next:], func(l line) bool { return l.key == was.key })
		if k < 0 {
			list = append(list, Change{was.where, Removed, []Span{{"-", was.words}}})
			continue
		}
		k += next
		taken[k] = true
		add(k)
		next = k + 1
		list = append(list, Change{b[k].where, Changed, spans(was.words, b[k].words)})
	}
	add(len(b))
	return list
}

// withMoves makes one change of a sentence that went at one place and came at another.
func withMoves(list []Change) []Change {
	for i := 0; i < len(list); i++ {
		if list[i].Kind != Added {
			continue
		}
		from := slices.IndexFunc(list, func(c Change) bool { return c.Kind == Removed && c.Spans[0].Words == list[i].Spans[0].Words })
		if from < 0 {
			continue
		}
		list[i] = Change{list[i].Where, Moved, []Span{{"", list[i].Spans[0].Words}}}
		list = slices.Delete(list, from, from+1)
		if from < i {
			i--
		}
	}
	return list
}

// common returns the indexes of what two lists have in common, in order: a longest such list.
func common[T any](a, b []T, key func(T) string) (list [][2]int) {
	x, y := make([]string, len(a)), make([]string, len(b))
	for i, v := range a {
		x[i] = key(v)
	}
	for j, v := range b {
		y[j] = key(v)
	}
	first, last := 0, 0
	for first < len(x) && first < len(y) && x[first] == y[first] {
		list = append(list, [2]int{first, first})
		first++
	}
	for last < len(x)-first && last < len(y)-first && x[len(x)-1-last] == y[len(y)-1-last] {
		last++
	}
	n, k := len(x)-first-last, len(y)-first-last
	longest := make([][]int, n+1) // of what begins at i and j
	for i := range longest {
		longest[i] = make([]int, k+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := k - 1; j >= 0; j-- {
			if x[first+i] == y[first+j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < k; {
		switch {
		case x[first+i] == y[first+j]:
			list = append(list, [2]int{first + i, first + j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	for i := last; i > 0; i-- {
		list = append(list, [2]int{len(x) - i, len(y) - i})
	}
	return list
}

// comparedWords bounds the words of two sentences that are compared one by one.
const comparedWords = 2000

// wordOrSign matches a word, or another sign, with the space before it.
var wordOrSign = regexp.MustCompile(`\s*(?:[\pL\pN]+(?:[.:'’-][\pL\pN]+)*|[^\s\pL\pN])|\s+`)

// spans compares two sentences word by word.
func spans(was, now string) (list []Span) {
	a, b := wordOrSign.FindAllString(was, -1), wordOrSign.FindAllString(now, -1)
	if len(a) > comparedWords || len(b) > comparedWords {
		return []Span{{"-", was}, {"+", now}}
	}
	add := func(mark string, words []string) {
		if len(words) == 0 {
			return
		}
		if last := len(list) - 1; last >= 0 && list[last].Mark == mark {
			list[last].Words += strings.Join(words, "")
			return
		}
		list = append(list, Span{mark, strings.Join(words, "")})
	}
	i, j := 0, 0
	for _, same := range append(common(a, b, func(word string) string { return word }), [2]int{len(a), len(b)}) {
		add("-", a[i:same[0]])
		add("+", b[j:same[1]])
		if same[0] < len(a) {
			add("", a[same[0]:same[0]+1])
		}
		i, j = same[0]+1, same[1]+1
	}
	return list
}

// ChangeWords says a change in a few words: step 1, 20 → 15 minutes.
func (m *Maker) ChangeWords(c Change) string {
	if c.Kind != Changed {
		return m.T("change."+string(c.Kind), c.Where, words.Cut(c.Spans[0].Words, shortest))
	}
	first := slices.IndexFunc(c.Spans, func(s Span) bool { return s.Mark != "" })
	last := len(c.Spans) - 1
	for last > first && c.Spans[last].Mark == "" {
		last--
	}
	if first < 0 {
		return c.Where
	}
	was, now := side(c.Spans[first:last+1], "-"), side(c.Spans[first:last+1], "+")
	if last+1 < len(c.Spans) && isNumber(was) && isNumber(now) {
		now += wordOrSign.FindString(c.Spans[last+1].Words)
	}
	switch {
	case was == "" && now == "": // signs alone
		return c.Where
	case was == "":
		return m.T("change.added", c.Where, words.Cut(now, shortest))
	case now == "":
		return m.T("change.removed", c.Where, words.Cut(was, shortest))
	}
	return m.T("change.changed", c.Where, words.Cut(was, shortest), words.Cut(now, shortest))
}

// side returns the words of one version, without signs around them.
func side(list []Span, mark string) string {
	var b strings.Builder
	for _, s := range list {
		if s.Mark == "" || s.Mark == mark {
			b.WriteString(s.Words)
		}
	}
	return strings.Trim(b.String(), " ,;:.“”\n")
}

func isNumber(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' && r != ',' })
}
