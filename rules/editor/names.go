// Package editor supports editing a rule's text: what could be written there, what is wrong with
// it, what a word means and where it is defined, and differences between two texts. The console and
// the language server share it.
package editor

import (
	"slices"

	"github.com/quandohq/quando/rules/form"
)

// A Choice is a named object of the service.
type Choice struct {
	Kind  string `json:"kind"` // label, sector, person, channel, board, stage
	Name  string `json:"name"`
	Board string `json:"board,omitempty"` // of a stage
}

// Names are what a rule can name.
type Names struct {
	Catalogue form.Catalogue
	Choices   []Choice
	Calendars []string
	Media     []string
	Rules     []string    // ids, for tests
	Vars      []form.Fact // of the file
	Results   []form.Fact // what the steps of the rule have given names to
}

// facts are those that the file itself defines.
func (n *Names) facts() []form.Fact {
	list := slices.Clone(n.Results)
	if len(n.Vars) > 0 {
		list = append(list, form.Fact{Name: "vars", Type: "an object", Summary: "the constants of the file", Fields: n.Vars})
	}
	return list
}

// Of returns the names of a kind of thing.
func (n *Names) Of(kind string) []string {
	switch kind {
	case "calendar":
		return n.Calendars
	case "media":
		return n.Media
	case "rule":
		return n.Rules
	}
	var list []string
	for _, c := range n.Choices {
		if c.Kind == kind && !slices.Contains(list, c.Name) {
			list = append(list, c.Name)
		}
	}
	return list
}
