package rules

import "github.com/quandohq/quando/rules/phrases"

// A Language is a language of messages. The zero value is English.
type Language = phrases.Language

// The languages.
const (
	English    = phrases.English
	Portuguese = phrases.Portuguese
)
