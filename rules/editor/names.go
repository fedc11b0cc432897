// Package editor supports editing a rule's text: completions in it, and differences between two
// texts.
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
}

// Of returns the names of a kind of thing.
func (n *Names) Of(kind string) []string {
	switch kind {
	case "calendar":
		return n.Calendars
	case "media":
		return n.Media
	}
	var list []string
	for _, c := range n.Choices {
		if c.Kind == kind && !slices.Contains(list, c.Name) {
			list = append(list, c.Name)
		}
	}
	return list
}
