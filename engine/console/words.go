package console

import (
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
)

// words are a language in which pages are written.
type words struct {
	Code string // en, pt
	Tag  string // as browsers name it
	Name string // in itself
	at   int    // its place in a message: a rules.Language
	time string // how a moment is written
	day  string // how a day is written
}

// languages are those that pages are written in; the first is for those who ask for none of them.
var languages = []words{
	{"en", "en", "English", 0, "2006-01-02 15:04:05", " 2006-01-02"},
	{"pt", "pt-BR", "Português", 1, "02/01/2006 15:04:05", " 02/01/2006"},
}

const languageCookie = "quando_language"

// languageOf returns the language of a request: the one that was chosen, else the browser's.
func languageOf(r *http.Request) string {
	if cookie, err := r.Cookie(languageCookie); err == nil {
		for _, l := range languages {
			if l.Code == cookie.Value {
				return l.Code
			}
		}
	}
	best, weight := languages[0].Code, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
			q, _ = strconv.ParseFloat(value, 64) // what is no number weighs nothing
		}
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		for _, l := range languages {
			if l.Code == primary && q > weight {
				best, weight = l.Code, q
			}
		}
	}
	return best
}

// messages are all texts of the pages, by their keys, in each language.
var messages = [...]map[string][2]string{commonMessages, pageMessages, ruleMessages, simulatorMessages, healthMessages, editorMessages, fieldMessages}

func message(key string) (m [2]string, ok bool) {
	for _, part := range messages {
		if m, ok = part[key]; ok {
			break
		}
	}
	return m, ok
}

// knows reports whether there is such a message.
func (w words) knows(key string) bool { _, ok := message(key); return ok }

// t returns a message. A key that there is none for is shown as it stands, so that it is noticed.
func (w words) t(key string, args ...any) string {
	m, ok := message(key)
	if !ok {
		return "⟦" + key + "⟧"
	}
	if len(args) == 0 {
		return m[w.at]
	}
	return fmt.Sprintf(m[w.at], args...)
}

// n returns a message about a number of things: one of key.one and key.many.
func (w words) n(key string, n int) string {
	if n == 1 {
		return w.t(key+".one", w.number(n))
	}
	return w.t(key+".many", w.number(n))
}

// or returns the message of a key, or else a text as it stands: what the service or a rule named, and this catalogue does not know.
func (w words) or(prefix, name string) string {
	if w.knows(prefix + name) {
		return w.t(prefix + name)
	}
	return engine.Harmless(name)
}

// told returns a text that was recorded for people, in this language where the engine wrote it.
func (w words) told(text string) string {
	return engine.Harmless(rules.HideText(engine.Told(w.language(), text)))
}

func (w words) language() rules.Language { return rules.Language(w.at) }

// functions are what templates can ask for, in this language.
func (w words) functions() template.FuncMap {
	return template.FuncMap{
		"t": w.t, "n": w.n, "num": w.number,
		"state":   func(s journal.State) string { return w.or("state.", string(s)) },
		"step":    func(s journal.StepState) string { return w.or("step.", string(s)) },
		"outcome": func(s journal.Outcome) string { return w.or("outcome.", string(s)) },
		"event":   func(typ string) string { return w.or("event.", typ) },
		"verb":    func(verb string) string { return w.or("verb.", verb) },
		"stage":   func(s rules.Stage) string { return w.or("stage.", string(s)) },
		"role":    func(name string) string { return w.or("role.", name) },
		"safe":    engine.Harmless,
		"lines":   func(s string) []string { return harmlessLines(s) },
		"moment":  w.moment,
		"told":    w.told,
		"length":  w.length,
		"bytes":   w.bytes,
		"percent": func(f float64) string { return strings.Replace(fmt.Sprintf("%.1f %%", f*100), ".", w.point(), 1) },
		"decimal": func(f float64) string { return strings.Replace(strconv.FormatFloat(f, 'f', -1, 64), ".", w.point(), 1) },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":     func(t time.Time) string { return w.t("day."+t.Weekday().String()) + t.Format(w.day) },
		"menuLink": func(name string) string {
			if name == "today" {
				return "/"
			}
			return "/" + name
		},
	}
}

// menu are the pages that every console has.
var menu = []string{"today", "rules", "runs", "events", "conversations", "calendars", "health", "audit"}

// harmlessLines splits a text into lines that can be shown.
func harmlessLines(s string) []string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = engine.Harmless(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return lines
}

func (w words) point() string {
	if w.Code == "pt" {
		return ","
	}
	return "."
}

// number writes a number with its thousands apart.
func (w words) number(n any) string {
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

// moment writes a time; none is a dash.
func (w words) moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Format(w.time)
}

// length writes a length of time with the two largest units.
func (w words) length(d time.Duration) string {
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

func (w words) bytes(n int64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < 3 {
		f, unit = f/1024, unit+1
	}
	text := fmt.Sprintf("%.1f %s", f, [...]string{"B", "KiB", "MiB", "GiB"}[unit])
	return strings.Replace(text, ".", w.point(), 1)
}
