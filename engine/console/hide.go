package console

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
)

// The text need not be right, nor be read as YAML at all, so what may be a key of another service is found by how it looks; more may be hidden than must be.
var (
	hiddenKey  = regexp.MustCompile(`(?m)(?:^|[\s,{\[?#-])(["']?(?:headers|` + secretName + `)["']?[ \t]*:)(?:\s|$|["'{])`)
	hiddenMap  = regexp.MustCompile(`^\s*(?:[&!][^\s{]*\s+)*\{`) // in braces, behind the key
	hiddenWord = regexp.MustCompile(`^[ \t]*(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,}\]\n]*)`)
	headerName = regexp.MustCompile(`^ *["']?[A-Za-z0-9_-]+["']?[ \t]*:(?:\s|$)`)
	onlyValue  = regexp.MustCompile(`^[ \t]*["']?\{\{[^}]*\}\}["']?[ \t]*(?:[,}\]\n]|$)`) // what it is stands elsewhere

	urlPassword = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^/\s"'@:]*:[^/\s"'@]*@`)
	urlSecret   = regexp.MustCompile(`([?&;](?:` + secretName + `|(?i:key|sig|auth|pwd))=)[^&\s"'#{•]+`)
	// What may be a key besides those that rules.SecretForms knows for sure.
	knownKey = regexp.MustCompile(`\b(?:Bearer +[A-Za-z0-9._~+/=-]{8,}|(?:sk|pk|rk|whsec|ghp|gho|ghs|glpat|shpat|xox[abprs])[_-][A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)`)
)

// A line without any of these has nothing that is hidden. Most have not, and a look for a word costs a hundredth of a look for a pattern.
var (
	hiddenWords = []string{"headers", "token", "secret", "password", "passwd", "senha", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "private_key", "private-key", "privatekey", "authorization", "credential", "cookie", "signature"}
	knownWords  = []string{"Bearer ", "sk_", "sk-", "pk_", "pk-", "rk_", "rk-", "whsec", "gh", "glpat", "shpat", "xox", "AKIA", "AIza", "eyJ", "PRIVATE KEY"}
)

func holdsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// nextHidden returns where, from a place on, the next key stands whose value is hidden, and where it ends; -1 is nowhere.
func nextHidden(text string, from int) (key, end int) {
	for from < len(text) {
		line := text[from:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if holdsAny(strings.ToLower(line), hiddenWords) {
			if at := hiddenKey.FindStringSubmatchIndex(line); at != nil {
				return from + at[2], from + at[3]
			}
		}
		from += len(line)
	}
	return -1, -1
}

// secretName is what a value is called that is nobody else's business.
const secretName = `[\w-]*(?i:token|secret|passw(?:or)?d|senha|api[_-]?key|access[_-]?key|private[_-]?key|authorization|credential|cookie|signature)[\w-]*`

// withoutSecrets hides what may be a key of another service in a rule's text: the values of headers and of whatever is called like one, and what looks like one.
func withoutSecrets(text string) string {
	var b strings.Builder
	from := 0
	for {
		key, end := nextHidden(text, from)
		if key < 0 {
			b.WriteString(text[from:])
			return withoutKeys(b.String())
		}
		b.WriteString(text[from:end])
		line := strings.LastIndex(text[:key], "\n") + 1
		from = end
		switch brace := hiddenMap.FindStringIndex(text[end:]); {
		case onlyValue.MatchString(text[end:]):
		case brace != nil:
			b.WriteString(" { ••• }")
			from += brace[1] + closing(text[end+brace[1]:])
		case strings.HasSuffix(strings.TrimRight(text[line:key], " \t"), "{"), strings.HasSuffix(strings.TrimRight(text[line:key], " \t"), ","):
			b.WriteString(" •••")
			from += hiddenWord.FindStringIndex(text[end:])[1]
		default:
			shown, length := hideBlock(text[end:], key-line)
			b.WriteString(shown)
			from += length
		}
	}
}

// withoutKeys hides what looks like a key in any text: passwords and keys in addresses, and keys of well-known services.
func withoutKeys(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "://") {
			line = urlPassword.ReplaceAllString(line, "${1}•••@")
		}
		if strings.Contains(line, "=") {
			line = urlSecret.ReplaceAllString(line, "${1}•••")
		}
		if holdsAny(line, knownWords) {
			line = rules.SecretForms.ReplaceAllString(knownKey.ReplaceAllString(line, "•••"), "•••")
		}
		b.WriteString(line)
	}
	return b.String()
}

// closing returns where a mapping that has been opened is over: behind its brace, or at the end of the text.
func closing(text string) int {
	depth, quote := 1, rune(0)
	escaped := false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case quote == '"' && c == '\\':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.ContainsRune(" \t\n,{[:", rune(text[i-1]))):
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// hideBlock hides the rest of a line and those below it that stand further in than a column; comments and empty lines do not end them. It returns
// what is shown of how much.
func hideBlock(text string, column int) (shown string, length int) {
	var b strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		content := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case content == "" || i > 0 && indent <= column && content[0] == '#':
			b.WriteString(line)
		case i > 0 && indent <= column:
			return b.String(), length
		default:
			name := strings.Repeat(" ", indent)
			if i > 0 && headerName.MatchString(line) {
				name = line[:strings.Index(line, ":")] + ": "
			}
			b.WriteString(name + "•••")
			if strings.HasSuffix(line, "\n") {
				b.WriteString("\n")
			}
		}
		length += len(line)
	}
	return b.String(), length
}
