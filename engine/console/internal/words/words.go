// Package words puts into words what the console's pages show, in the language of who looks: times,
// numbers, rules and what they do.
package words

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/redact"
)

// A Language is one in which pages are written.
type Language struct {
	Code     string // en, pt
	Tag      string // as browsers name it
	Name     string // in itself
	language phrases.Language
	now      func() time.Time // nil is time.Now
}

// Languages are those that pages are written in; the first is for those who ask for none of them.
var Languages = []Language{
	{"en", "en", "English", phrases.English, nil},
	{"pt", "pt-BR", "Português", phrases.Portuguese, nil},
}

// Cookie names the cookie that holds the language which a person chose.
const Cookie = "quando_language"

// LanguageOf returns the language of a request: the one that was chosen, else the browser's.
func LanguageOf(r *http.Request) string {
	if cookie, err := r.Cookie(Cookie); err == nil {
		for _, l := range Languages {
			if l.Code == cookie.Value {
				return l.Code
			}
		}
	}
	best, weight := Languages[0].Code, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
			q, _ = strconv.ParseFloat(value, 64) // what is no number weighs nothing
		}
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		for _, l := range Languages {
			if l.Code == primary && q > weight {
				best, weight = l.Code, q
			}
		}
	}
	return best
}

// Knows reports whether there is such a message.
func (w Language) Knows(key string) bool { return phrases.Knows(phrases.Code(key)) }

// T returns a message of the catalogue.
func (w Language) T(key string, args ...any) string {
	return phrases.Say(w.language, phrases.Code(key), args...)
}

// N returns a message about a number of things: one of key.one and key.many.
func (w Language) N(key string, n int) string {
	if n == 1 {
		return w.T(key+".one", w.Number(n))
	}
	return w.T(key+".many", w.Number(n))
}

// Or returns the message of a key, or else a text as it stands: what the service or a rule named,
// and this catalogue does not know.
func (w Language) Or(prefix, name string) string {
	if w.Knows(prefix + name) {
		return w.T(prefix + name)
	}
	return engine.Harmless(name)
}

// Told returns a text that was recorded for people, in this language where a phrase is recorded
// beside it.
func (w Language) Told(text string, why *phrases.Phrase) string {
	if said := w.plainly(phrases.Recorded(text, why)); said != "" {
		return engine.Harmless(redact.Text(said))
	}
	said := phrases.Told(w.RulesLanguage(), text, why)
	if verb, rest, ok := strings.Cut(said, ": "); ok && w.Knows("verb."+verb) {
		said = rest // an error begins with the verb, which the page has said
	}
	return engine.Harmless(redact.Text(said))
}

// plainly says a reason for people who do not write rules, where the catalogue has other words for
// them; empty is that it has not.
func (w Language) plainly(why *phrases.Phrase) string {
	why = why.Coded()
	if why == nil || !w.Knows("plain."+string(why.Code)) {
		return ""
	}
	key := "plain." + string(why.Code)
	if !strings.Contains(w.T(key), "%") {
		return w.T(key)
	}
	args := make([]any, len(why.Args))
	for i, arg := range why.Args {
		switch arg := arg.(type) {
		case *phrases.Phrase:
			args[i] = cmp.Or(w.plainly(arg), arg.In(w.language))
		case string:
			args[i] = w.Or("event.", arg)
		default:
			args[i] = arg
		}
	}
	return w.T(key, args...)
}

// RulesLanguage is the language as rules and explanations name it.
func (w Language) RulesLanguage() rules.Language { return w.language }

// Functions are what templates can ask for, in this language.
func (w Language) Functions() template.FuncMap {
	return template.FuncMap{
		"t": w.text, "n": w.N, "num": w.Number,
		"state":   func(s journal.State) string { return w.Or("state.", string(s)) },
		"step":    func(s journal.StepState) string { return w.Or("step.", string(s)) },
		"outcome": func(s journal.Outcome) string { return w.Or("outcome.", string(s)) },
		"event":   func(typ string) string { return w.Or("event.", typ) },
		"verb":    func(verb string) string { return w.Or("verb.", verb) },
		"stage":   func(s rules.Stage) string { return w.Or("stage.", string(s)) },
		"role":    func(name string) string { return w.Or("role.", name) },
		"safe":    engine.Harmless,
		"lines":   func(s string) []string { return HarmlessLines(s) },
		"moment":  w.momentElement,
		"full":    w.FullMoment,
		"told":    w.Told,
		"length":  w.Length,
		"bytes":   w.bytes,
		"percent": func(f float64) string { return strings.Replace(fmt.Sprintf("%.1f %%", f*100), ".", w.point(), 1) },
		"decimal": func(f float64) string { return strings.Replace(strconv.FormatFloat(f, 'f', -1, 64), ".", w.point(), 1) },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":     w.Day,
	}
}

// HarmlessLines splits a text into lines that can be shown.
func HarmlessLines(s string) []string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = engine.Harmless(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return lines
}

func (w Language) point() string {
	if w.Code == "pt" {
		return ","
	}
	return "."
}

// Number writes a number with its thousands apart.
func (w Language) Number(n any) string {
	s := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	separator := ","
	if w.Code == "pt" {
		separator = "."
	}
	var parts []string
	for len(s) > 3 {
		parts = append(parts, s[len(s)-3:])
		s = s[:len(s)-3]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return sign + strings.Join(parts, separator)
}

// Decimal writes a number with so many decimals.
func (w Language) Decimal(f float64, decimals int) string {
	return strings.Replace(strconv.FormatFloat(f, 'f', decimals, 64), ".", w.point(), 1)
}

// Length writes a length of time with the two largest units.
func (w Language) Length(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return pair(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return pair(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return pair(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

func pair(a int, unit string, b int, small string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, small)
}

func (w Language) bytes(n int64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < 3 {
		f, unit = f/1024, unit+1
	}
	text := fmt.Sprintf("%.1f %s", f, [...]string{"B", "KiB", "MiB", "GiB"}[unit])
	return strings.Replace(text, ".", w.point(), 1)
}

// Cut shortens a text to a number of characters.
func Cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
