// Package redact hides secrets in texts, values and rule files from readers who may see what rules
// do but may not write them.
package redact

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Secrecy says how much of a value a reader without the right to write rules sees. It decides
// this in one place, for rule files, runs, events, the history and exports. In doubt it hides.
type Secrecy uint8

// The secrecy of a value follows from the names above it. The zero value is ordinary text.
const (
	Ordinary      Secrecy = iota
	calledAddress               // a URL to call: parts of its path that look like keys are hidden
	namedSecret                 // below a name such as token: hidden unless it is an expression
	headerValue                 // always hidden
	Everything    Secrecy = 255 // hides nothing, for readers who may write rules
)

// Mark is shown in place of what is hidden.
const Mark = "•••"

// hiddenName matches names of secrets, also inside of longer names. hiddenWord matches names that
// count only as a whole word, because keyword and author contain them.
var (
	hiddenName = regexp.MustCompile(`(?i)token|secret|passw(?:or)?d|senha|api[_-]?key|access[_-]?key|private[_-]?key|authorization|credential|cookie|signature`)
	hiddenWord = regexp.MustCompile(`(?i:(?:^|[^a-z])(?:auth|keys?|pwd|sig|jwt|bearer)(?:[^a-z]|$))|[a-z0-9](?:Auth|Key|Pwd|Sig|Jwt)(?:[^a-z]|$)`)
	// hiddenLine matches either of them in a text that is not valid YAML.
	hiddenLine = regexp.MustCompile(`(?i)headers|` + hiddenName.String()[4:] + `|auth|key|pwd|sig|jwt|bearer`)
)

// longestName bounds the cost of matching names. Longer ones count as names of secrets.
const longestName = 200

// Of returns the secrecy of the member with a name, in a value of this secrecy.
func (s Secrecy) Of(name string) Secrecy {
	switch {
	case s == Everything:
		return Everything
	case s == headerValue || strings.EqualFold(name, "headers"):
		return headerValue
	case s == namedSecret || isHiddenName(name):
		return namedSecret
	case name == "url" || name == vocabulary.HTTPRequest:
		return calledAddress
	}
	return Ordinary
}

func isHiddenName(name string) bool {
	// A key of a map and an idempotency key are no secrets.
	if strings.EqualFold(name, "key") || strings.EqualFold(name, "keys") || strings.Contains(strings.ToLower(name), "idempotency") {
		return false
	}
	return len(name) > longestName || hiddenName.MatchString(name) || hiddenWord.MatchString(name)
}

// Text returns a text as it may be shown.
func (s Secrecy) Text(text string) string {
	parts := s.parts(text)
	if len(parts) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, p := range parts {
		b.WriteString(text[at:p.From])
		b.WriteString(Mark)
		at = p.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// Value returns plain data as it may be shown.
func (s Secrecy) Value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = s.Of(name).Value(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.Value(item)
		}
		return out
	case string:
		return s.Text(v)
	case nil, bool:
		return v
	}
	if s == namedSecret || s == headerValue {
		return Mark // a number
	}
	return v
}

// Text returns a text as it may be shown, wherever it stands.
func Text(text string) string { return Ordinary.Text(text) }

// Value returns plain data as it may be shown. It does not change what it is given.
func Value(v any) any { return Ordinary.Value(v) }

// wholeExpression matches a single {{ expression }} without a text literal in it.
var wholeExpression = regexp.MustCompile("^\\s*\\{\\{[^}\"'`]*\\}\\}\\s*$")

// parts returns the hidden parts of a text, in order and without overlap.
func (s Secrecy) parts(text string) []source.Part {
	switch {
	case text == "" || s == Everything || s == namedSecret && wholeExpression.MatchString(text):
		return nil
	case s == namedSecret && (text == "true" || text == "false" || text == "null" || text == "~"):
		return nil
	case s >= namedSecret:
		return []source.Part{{From: 0, To: len(text)}}
	}
	parts := formParts(text)
	if strings.Contains(text, "://") {
		parts = append(parts, groups(userInfo, text)...)
		whole := strings.TrimSpace(text)
		if s == calledAddress || wholeAddress.MatchString(whole) {
			parts = append(parts, pathParts(text)...)
		}
	} else if s == calledAddress {
		parts = append(parts, pathParts(text)...)
	}
	if strings.Contains(text, "=") {
		parts = append(parts, groups(hiddenQuery, text)...)
	}
	return mergeParts(append(parts, jsonParts(text)...))
}

var (
	userInfo     = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://([^/\s"'@]+)@`)
	hiddenQuery  = regexp.MustCompile(`[?&;](?i:[\w.-]*(?:` + hiddenName.String()[4:] + `)[\w.-]*|key|sig|auth|pwd|jwt)=([^&\s"'#{•]+)`)
	wholeAddress = regexp.MustCompile(`^(?i:https?|wss?)://\S+$`)
	// likelyKey matches what may be a key, besides what SecretForms knows for sure.
	likelyKey = regexp.MustCompile(`\b(?:Bearer +[A-Za-z0-9._~+/=-]{8,}|(?:sk|pk|rk|whsec|ghp|gho|ghs|glpat|shpat|xox[abprs])[_-][A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)`)
)

// formWords occur in every text that likelyKey or SecretForms match. Most texts have none of them,
// and searching a word costs a hundredth of matching a pattern.
var formWords = []string{"Bearer ", "sk_", "sk-", "pk_", "pk-", "rk_", "rk-", "whsec", "gh", "glpat", "shpat", "xox", "AKIA", "AIza", "eyJ", "PRIVATE KEY"}

// formParts returns the parts of a text that look like keys by themselves.
func formParts(text string) (parts []source.Part) {
	if slices.ContainsFunc(formWords, func(word string) bool { return strings.Contains(text, word) }) {
		for _, form := range []*regexp.Regexp{likelyKey, SecretForms} {
			for _, at := range form.FindAllStringIndex(text, -1) {
				parts = append(parts, source.Part{From: at[0], To: at[1]})
			}
		}
	}
	for _, at := range authScheme.FindAllStringSubmatchIndex(text, -1) {
		if looksRandom(text[at[2]:at[3]], 16) {
			parts = append(parts, source.Part{From: at[2], To: at[3]})
		}
	}
	return parts
}

// groups returns where the first group of an expression stands.
func groups(x *regexp.Regexp, text string) (parts []source.Part) {
	for _, at := range x.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, source.Part{From: at[2], To: at[3]})
	}
	return parts
}

// pathParts returns the parts of a URL's path that look like the key of an incoming webhook: long,
// with upper case, lower case and digits. UUIDs do not have all of these. It skips expressions in
// {{ }}.
func pathParts(text string) (parts []source.Part) {
	segments, _ := template.Split(text)
	for _, s := range segments {
		if s.Expression {
			continue
		}
		path, _, _ := strings.Cut(s.Text, "?")
		from := 0
		if _, behind, whole := strings.Cut(path, "://"); whole {
			if from = len(path); strings.Contains(behind, "/") {
				from = len(path) - len(behind) + strings.IndexByte(behind, '/')
			}
		}
		for from < len(path) {
			end := len(path)
			if i := strings.IndexByte(path[from:], '/'); i >= 0 {
				end = from + i
			}
			if part := path[from:end]; looksRandom(part, 20) && strings.ContainsFunc(part, unicode.IsUpper) && strings.ContainsFunc(part, unicode.IsLower) {
				parts = append(parts, source.Part{From: s.Offset + from, To: s.Offset + end})
			}
			from = end + 1
		}
	}
	return parts
}

// jsonParts returns the hidden parts of a text that is JSON, such as the body of an answer.
func jsonParts(text string) []source.Part {
	if begin := strings.TrimLeft(text, " \t\r\n"); begin == "" || begin[0] != '{' && begin[0] != '[' || !json.Valid([]byte(text)) {
		return nil
	}
	w := jsonWalk{text: text, decoder: json.NewDecoder(strings.NewReader(text))}
	w.decoder.UseNumber()
	w.value(Ordinary)
	return w.parts
}

// A jsonWalk scans a text that is valid JSON.
type jsonWalk struct {
	text    string
	decoder *json.Decoder
	parts   []source.Part
}

// token returns the next token and where it begins.
func (w *jsonWalk) token() (token json.Token, from int) {
	before := int(w.decoder.InputOffset())
	token, _ = w.decoder.Token() // the text is valid
	rest := w.text[before:]
	return token, before + len(rest) - len(strings.TrimLeft(rest, " \t\r\n,:"))
}

func (w *jsonWalk) value(s Secrecy) {
	token, from := w.token()
	end := int(w.decoder.InputOffset())
	switch token := token.(type) {
	case json.Delim:
		for w.decoder.More() {
			below := s
			if token == '{' {
				name, _ := w.token()
				key, _ := name.(string)
				below = s.Of(key)
			}
			w.value(below)
		}
		_, _ = w.decoder.Token() // the end of it
	case string:
		for _, p := range s.parts(w.text[from+1 : end-1]) {
			w.parts = append(w.parts, source.Part{From: from + 1 + p.From, To: from + 1 + p.To})
		}
	case json.Number:
		if s == namedSecret || s == headerValue {
			w.parts = append(w.parts, source.Part{From: from, To: end})
		}
	}
}

// mergeParts sorts parts and merges those that overlap.
func mergeParts(parts []source.Part) []source.Part {
	slices.SortFunc(parts, func(a, b source.Part) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var out []source.Part
	for _, p := range parts {
		if n := len(out); n > 0 && p.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, p.To)
		} else {
			out = append(out, p)
		}
	}
	return out
}
