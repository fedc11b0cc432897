package rules

import (
	"regexp"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// HideInFile returns the text of a rule file as people may see it who may not write rules, with as many lines as it has: without the values
// of headers, what stands below a name such as token, and what looks like a key wherever it stands, in comments too.
func HideInFile(text string) string { return hideInFile(text, 3) }

// hideInFile hides within comments as within files, so many levels deep.
func hideInFile(text string, levels int) string {
	if levels == 0 {
		return blind(text)
	}
	shown, ok := source.Blot(text, source.Censor{
		Class:   func(above uint8, key string) uint8 { return uint8(Secrecy(above).Of(key)) },
		Parts:   func(value string, class uint8) []source.Part { return Secrecy(class).parts(value) },
		Comment: func(comment string) string { return hideInFile(comment, levels-1) },
		Mark:    Hidden,
	})
	if !ok {
		return blind(text)
	}
	return shown
}

// keyLine is a line that begins with a key, behind marks of comments and lists.
var keyLine = regexp.MustCompile(`^[\s#?-]*["']?[\w.-]+["']?[ \t]*:(?:\s|$)`)

// blind hides what may be a secret in a text that cannot be read: nobody knows where a value ends. Where anything in it is named like one, only
// names are shown.
func blind(text string) string {
	names := hiddenLine.MatchString(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		content := strings.TrimSpace(line)
		key := strings.TrimRight(keyLine.FindString(line), " \t\r")
		switch {
		case !names:
			lines[i] = anyText.Text(line)
		case content == "" || content == "-" || content == "#" || key != "" && strings.TrimSpace(line[len(key):]) == "":
		case key != "":
			lines[i] = key + " " + Hidden
		default:
			lines[i] = line[:strings.Index(line, content)] + Hidden
		}
	}
	return strings.Join(lines, "\n")
}
