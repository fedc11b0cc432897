// Package plaintest finds what a page of the console says that a person at a desk would not say.
package plaintest

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

var (
	// Technical matches the parts of a page that may say anything.
	Technical  = regexp.MustCompile(`(?s)<head>.*?</head>|<script.*?</script>|<details class="technical">.*?</details>|<details class="rawyaml".*?</details>|<label class="plaintext">.*?</label>|<pre.*?</pre>`)
	markup     = regexp.MustCompile(`<[^>]*>`)
	spaces     = regexp.MustCompile(`\s+`)
	ownAddress = regexp.MustCompile(`https?://\S*`) // which a rule names
)

// unsaid are patterns of what nobody at a desk says, by what it is.
var unsaid = map[string]*regexp.Regexp{
	"an id":          regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-`),
	"a name of code": regexp.MustCompile(`\b[a-z]+_[a-z_]+\b`),
	"an expression":  regexp.MustCompile(`\b(?:message|contact|conversation|attendance|event|card)\.[a-z]+\b|==|!=|&&|\|\||\{\{|\bnil\b`),
	"an ISO time":    regexp.MustCompile(`\d{4}-\d\d-\d\d`),
}

// Text returns a part of a page as it is read.
func Text(part string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(part, " ")), " "))
}

// Unsaid returns what a page says outside of Technical details that nobody at a desk would say,
// each with what stands around it.
func Unsaid(page string) (found []string) {
	said := ownAddress.ReplaceAllString(Text(Technical.ReplaceAllString(page, " ")), "")
	for what, pattern := range unsaid {
		if at := pattern.FindStringIndex(said); at != nil {
			found = append(found, fmt.Sprintf("%s: …%s…", what, said[max(0, at[0]-60):min(len(said), at[1]+60)]))
		}
	}
	return found
}
