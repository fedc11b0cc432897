package blueprint

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// A Type says what a person chooses or types for a blank.
type Type string

// The types of blanks, which are rules.BlankTypes. Those that name something of the service are
// called as in rules.Arg.Refers.
const (
	Text     Type = "text"
	TextList Type = "words" // one or several texts
	Number   Type = "number"
	Duration Type = "duration" // 15m
	Clock    Type = "time"     // 09:00
	Phone    Type = "phone"
	Phones   Type = "phones"
	Calendar Type = "calendar"
	Label    Type = "label"
	Sector   Type = "sector"
	Person   Type = "person"
	Teammate Type = "teammate" // of the table people of the configuration
	Channel  Type = "channel"
	Board    Type = "board"
	Stage    Type = "stage"
)

// types check a single value.
var types = map[Type]func(s string) error{
	Text: lines, TextList: line, Number: number, Duration: isDuration, Clock: clock, Phone: phone, Phones: phone, Calendar: calendarName,
	Label: line, Sector: line, Person: line, Teammate: line, Channel: line, Board: line, Stage: line,
}

// IsList reports whether a blank of the type has several values.
func (t Type) IsList() bool { return t == TextList || t == Phones }

// Bounds on what a person types.
const (
	maxText  = 4000
	maxLine  = 200
	maxItems = 50
)

// A WrongValue says why a value cannot be used for a blank.
type WrongValue struct {
	Blank   *Blank
	Message *phrases.Message
}

// In returns the question of the blank and what is wrong, in a language.
func (w WrongValue) In(l phrases.Language) string {
	return strings.TrimRight(w.Blank.Words.In(l), " ") + " " + w.Message.In(l)
}

// Error returns it in English.
func (w WrongValue) Error() string { return w.In(phrases.English) }

// check returns the values without spaces around them, and what is wrong with them.
func (b *Blank) check(values []string) ([]string, *phrases.Message) {
	var out []string
	for _, v := range values {
		v = strings.TrimSpace(strings.ReplaceAll(v, "\r\n", "\n"))
		if v == "" {
			continue
		}
		if err := types[b.Type](v); err != nil {
			if m, ok := errors.AsType[*phrases.Message](err); ok {
				return nil, m
			}
			return nil, say("%v", err)
		}
		out = append(out, v)
	}
	switch {
	case len(out) == 0:
		return nil, say("a value is needed")
	case len(out) > 1 && !b.Type.IsList():
		return nil, say("only one value is allowed")
	case len(out) > maxItems:
		return nil, say("there are %d values; at most %d are allowed", len(out), maxItems)
	}
	return out, nil
}

func lines(s string) error {
	if n := utf8.RuneCountInString(s); n > maxText {
		return say("the text has %d characters; at most %d are allowed", n, maxText)
	}
	strange := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cs, r) }
	if !utf8.ValidString(s) || strings.ContainsFunc(s, strange) {
		return say("the text has a character that cannot be shown")
	}
	return nil
}

func line(s string) error {
	if n := utf8.RuneCountInString(s); n > maxLine {
		return say("the text has %d characters; at most %d are allowed", n, maxLine)
	}
	if strings.ContainsAny(s, "\n\t") {
		return say("the text must be on one line")
	}
	return lines(s)
}

func number(s string) error {
	if len(s) < 16 && numberText.MatchString(s) {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return nil
		}
	}
	return say("%q is not a number; write it like 3 or 2.5", brief(s))
}

func isDuration(s string) error {
	d, err := duration.Parse(s)
	if err == nil && d <= 0 {
		return say("%s must be longer than nothing", brief(s))
	}
	return err
}

var (
	numberText   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	clockText    = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)
	phoneText    = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
	calendarText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

func clock(s string) error {
	if !clockText.MatchString(s) {
		return say("%q is not a time; write it like 09:00", brief(s))
	}
	return nil
}

func phone(s string) error {
	if !phoneText.MatchString(s) {
		return say("%q is not a phone; write it like +5511999990000", brief(s))
	}
	return nil
}

func calendarName(s string) error {
	if !calendarText.MatchString(s) {
		return say("%q is not a calendar's name; use letters, digits, - and _", brief(s))
	}
	return nil
}

// brief shortens what a person typed, for a message about it.
func brief(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
