package view

import (
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// HoldWords says what a hold stops, since when and why.
func (v *View) HoldWords(h journal.Hold) string {
	words := HoldSubject(h) + ", " + HoldKindWords(h.Kind) + ", since " + v.Ago(h.Since)
	if h.Reason != "" {
		words += ": " + h.Reason
	}
	return words
}

// HoldSubject names what a hold stops.
func HoldSubject(h journal.Hold) string {
	if h.Lane != "" {
		lane := h.Lane
		h.Lane = ""
		return HoldSubject(h) + " in " + lane
	}
	switch {
	case h.Rule != "" && (h.Workspace == "" || h.Workspace == config.DefaultWorkspaceName):
		return "the rule " + h.Rule
	case h.Rule != "":
		return "the rule " + h.Rule + " of the workspace " + h.Workspace
	case h.Workspace != "":
		return "the workspace " + h.Workspace
	}
	return "everything"
}

// HoldKindWords says what placed a hold.
func HoldKindWords(k journal.HoldKind) string {
	switch k {
	case journal.HoldPerson:
		return "by a person"
	case journal.HoldSafety:
		return "at a safety bound"
	case journal.HoldRate:
		return "because the service asked for a pause"
	case journal.HoldKey:
		return "because the service refuses the key"
	}
	return string(k)
}

// HoldRemedy says what ends a hold. ahead tells a time to come.
func HoldRemedy(h journal.Hold, now time.Time, ahead func(time.Time) string) string {
	switch h.Kind {
	case journal.HoldRate:
		if h.Until.After(now) {
			return "goes on by itself at " + ahead(h.Until)
		}
		return "goes on by itself"
	case journal.HoldKey:
		return "the engine tries the key again and again, and goes on by itself when the service takes it: check service.api_key and its scopes"
	}
	command := "quando resume"
	if h.Rule != "" {
		command += " --rule " + h.Rule
	}
	if h.Workspace != "" && (h.Rule == "" || h.Workspace != config.DefaultWorkspaceName) {
		command += " --workspace " + h.Workspace
	}
	if h.Lane != "" {
		command += " --conversation " + strings.TrimPrefix(h.Lane, rules.LaneOf("conversation", ""))
	}
	if h.Kind == journal.HoldSafety {
		return "find out why it sent so much, then: " + command
	}
	return "ends with: " + command
}
