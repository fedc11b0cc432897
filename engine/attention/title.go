package attention

import (
	"path/filepath"
	"strconv"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// Title says in one sentence what needs a person. The customer is named as the caller says.
func (i *Item) Title(l phrases.Language, customer string) string {
	name := engine.Harmless(i.Name)
	say := func(key string, args ...any) string { return phrases.Say(l, phrases.Code(key), args...) }
	switch i.Kind {
	case Stopped:
		return i.stoppedTitle(say, name, customer)
	case Outage:
		title := say("need.outage." + string(i.Outage.Kind))
		switch {
		case i.Rule != "":
			return say("need.outage.rule", name)
		case i.many:
			return title + " (" + i.Workspace + ")"
		}
		return title
	case Uncertain:
		return say("need.uncertain", name, customer)
	case Failed:
		if len(i.Runs) == 1 {
			return say("need.failed", name, customer)
		}
		return say("need.failed.many", name, strconv.Itoa(len(i.Runs)))
	case Broken:
		if i.Rule == "" {
			name = engine.Harmless(filepath.Base(i.Broken.File) + ":" + strconv.Itoa(i.Broken.Line))
		}
		return say("need.broken", name)
	}
	if i.Check.Kind == CheckJournal { // it is of all workspaces
		return say("need.check.journal")
	}
	return say("need.check."+string(i.Check.Kind), i.Workspace)
}

func (i *Item) stoppedTitle(say func(key string, args ...any) string, name, customer string) string {
	switch h := i.Hold; {
	case h.Kind == journal.HoldKey:
		return say("need.key", h.Workspace)
	case h.Lane != "":
		return say("need.lane", name, customer)
	case h.Rule != "":
		return say("need.rule."+string(h.Kind), name)
	case h.Workspace != "":
		return say("need.workspace", h.Workspace)
	}
	return say("need.everything")
}
