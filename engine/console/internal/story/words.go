package story

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/form/sentence"
)

// lengthUnit matches a length of time that has one unit.
var lengthUnit = regexp.MustCompile(`^(\d+)([smhd])$`)

// span puts a length of time into words: 15 office minutes.
func (t *Teller) span(text string) string {
	s, err := duration.ParseSpan(text)
	if err != nil {
		return engine.Harmless(text)
	}
	length := duration.Format(s.Length)
	said := sentence.Scope{}.SayValue(t.RulesLanguage(), sentence.Term{Kind: sentence.Duration, Text: length})
	if s.Calendar == "" {
		return said
	}
	calendar := engine.Harmless(s.Calendar)
	if m := lengthUnit.FindStringSubmatch(length); m != nil && m[1] != "1" {
		return t.T("story.span."+m[2], m[1], calendar)
	}
	return t.T("span.of", said, calendar)
}

// says puts a condition into words; empty if a part of it is written by hand.
func (t *Teller) says(expression string) string {
	c := sentence.Read(expression)
	if len(c.ByHand()) > 0 {
		return ""
	}
	return engine.Harmless(sentence.Scope{}.Say(t.RulesLanguage(), c))
}

// past says what a condition found; empty if a part of it is written by hand.
func (t *Teller) past(c sentence.Condition) string {
	if len(c.ByHand()) > 0 {
		return ""
	}
	return engine.Harmless(sentence.Scope{}.SayPast(t.RulesLanguage(), c))
}

// contrary returns what is so if a condition is not.
func contrary(c sentence.Condition) sentence.Condition {
	switch c.Group {
	case sentence.None:
		c.Group = sentence.Any
		return c
	case "":
		c.Not = !c.Not
		return c
	}
	group := sentence.Any
	if c.Group == sentence.Any {
		group = sentence.All
	}
	out := sentence.Condition{Group: group}
	for _, part := range c.Of {
		out.Of = append(out.Of, contrary(part))
	}
	return out
}

// partsOf returns the conditions that must all be true.
func partsOf(c sentence.Condition) (list []sentence.Condition) {
	if c.Group != sentence.All {
		return []sentence.Condition{c}
	}
	for _, part := range c.Of {
		list = append(list, partsOf(part)...)
	}
	return list
}

// reason says in few words what a condition found. Not is that it was not true.
func (t *Teller) reason(expression string, not bool) string {
	c := sentence.Read(expression)
	if len(c.ByHand()) > 0 {
		return t.T("story.hand_reason")
	}
	if not {
		c = contrary(c)
	}
	if (c.Sentence == "says" || c.Sentence == "says_like") && c.Not {
		if list := c.Blanks["words"].List; len(list) == 1 {
			return t.T("story.no_one_word", "“"+engine.Harmless(words.Cut(list[0].Text, 30))+"”")
		}
		return t.T("story.no_word")
	}
	return words.Cut(t.past(c), 90)
}

// uuid matches an id, which is for programs.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}$`)

// values says what the names in a condition stood for, but for what its words say already.
func (t *Teller) values(values map[string]any, on time.Time) string {
	var parts []string
	for _, name := range sortedNames(values) {
		if strings.ContainsAny(name, "([ #") || strings.HasSuffix(name, "id") || strings.HasSuffix(name, "_ids") {
			continue
		}
		said := t.value(values[name], on)
		if said == "" {
			continue
		}
		of := sentence.Scope{}.SayValue(t.RulesLanguage(), sentence.Term{Kind: sentence.Name, Text: name})
		if strings.Contains(of, " id ") || strings.Contains(of, "_") {
			continue
		}
		parts = append(parts, engine.Harmless(of)+": "+said)
	}
	return strings.Join(parts, " · ")
}

// value puts a recorded value into words; empty if people do not know it.
func (t *Teller) value(v any, on time.Time) string {
	switch v := v.(type) {
	case nil:
		return t.T("story.none")
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return t.hour(at, on)
		}
		if name := t.named(v); name != "" {
			return name
		}
		if uuid.MatchString(v) {
			return ""
		}
		if t.Knows("fixed.status." + v) {
			return t.T("fixed.status." + v)
		}
		return "“" + engine.Harmless(words.Cut(v, 60)) + "”"
	case time.Time:
		return t.hour(v, on)
	case float64, int:
		return t.Number(v)
	}
	return ""
}

func sortedNames(values map[string]any) []string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
