package redact

import (
	"regexp"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// File returns the text of a rule file without its secrets, for readers without the right to write
// rules. It redacts comments too, and keeps the number of lines.
func File(text string) string { return redactFile(text, 3) }

// redactFile hides in comments as in files, down to a number of levels.
func redactFile(text string, levels int) string {
	if levels == 0 {
		return redactInvalid(text)
	}
	shown, ok := source.Redact(text, source.Redaction{
		Class:   func(above uint8, key string) uint8 { return uint8(Secrecy(above).Of(key)) },
		Parts:   func(value string, class uint8) []source.Part { return Secrecy(class).parts(value) },
		Comment: func(comment string) string { return redactFile(comment, levels-1) },
		Mark:    Mark,
	})
	if !ok {
		return redactInvalid(text)
	}
	return shown
}

// keyLine is a line that begins with a key, behind marks of comments and lists.
var keyLine = regexp.MustCompile(`^[\s#?-]*["']?[\w.-]+["']?[ \t]*:(?:\s|$)`)

// redactInvalid hides secrets in a text that is not valid YAML, where the end of a value is
// unknown. If any name of a secret occurs, it shows names only.
func redactInvalid(text string) string {
	names := hiddenLine.MatchString(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		content := strings.TrimSpace(line)
		key := strings.TrimRight(keyLine.FindString(line), " \t\r")
		switch {
		case !names:
			lines[i] = Ordinary.Text(line)
		case content == "" || content == "-" || content == "#" || key != "" && strings.TrimSpace(line[len(key):]) == "":
		case key != "":
			lines[i] = key + " " + Mark
		default:
			lines[i] = line[:strings.Index(line, content)] + Mark
		}
	}
	return strings.Join(lines, "\n")
}
