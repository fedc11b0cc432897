// Package templates holds rules with blanks. Filled in with the defaults of their blanks, they are
// the rules of the examples.
package templates

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the templates, in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // an embedded folder can be read
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Text returns the text of a template; false if there is none of that name.
func Text(name string) ([]byte, bool) {
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
