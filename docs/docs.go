// Package docs holds the documents that the program itself hands out.
package docs

import _ "embed" // the documents

// The reference of the language of rules, and of the tests beside rules.
var (
	//go:embed language.md
	Language string
	//go:embed testing.md
	Testing string
)
