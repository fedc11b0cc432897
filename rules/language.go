package rules

import "github.com/quandohq/quando/rules/phrases"

// A Language is one that people are told things in. The zero value is English.
type Language = phrases.Language

// The languages.
const (
	English    = phrases.English
	Portuguese = phrases.Portuguese
)
