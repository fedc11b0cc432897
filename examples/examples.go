// Package examples holds fifteen automations of a support desk, as rules, tests and words.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed */rules.yaml */rules_test.yaml
var files embed.FS

// The files of an example.
const (
	RulesFile = "rules.yaml"
	TestsFile = "rules_test.yaml"
)

// Names returns the names of the examples, in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // an embedded folder can be read
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// FS returns the files of all examples: <name>/rules.yaml and <name>/rules_test.yaml.
func FS() fs.FS { return files }
