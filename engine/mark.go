package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
)

// unknownObject is the object of an event that a call without an answer may cause: only the answer
// tells which object it is, and in which lane its events come. A Caused with this object is called
// a mark. Until its To, events of the call's types wait for the answer, in the whole workspace.
// After that, the action is asked whether such an event belongs to the call. The answer removes the
// mark.
const unknownObject = "?"

// A markedCall is a call of a step that may have marks.
type markedCall struct {
	Run  int64
	Step int // its index in the run
}

// A markContent is what a mark records of its call.
type markContent struct {
	Step   int             `json:"step"`
	Verb   string          `json:"verb"`
	Intent *actions.Intent `json:"intent"`
}

// addMarks adds marks for the events of a call that has no answer. Events of these types wait until
// the given time.
func (p *pending) addMarks(r *journal.Run, s *journal.Step, rec *record, until time.Time) {
	content, err := json.Marshal(markContent{s.N, s.Verb, rec.Intent})
	if err != nil {
		content = nil // saving the change fails for the same intent in the step's record
	}
	for _, event := range rec.Intent.Emits {
		p.change.Caused = append(p.change.Caused, journal.Caused{
			Workspace: r.Workspace, Lane: p.lane.Name, Event: event, Object: unknownObject, Set: content, Run: r.ID, Rule: r.Rule, Ancestry: r.Ancestry,
			After: rec.Intent.After, From: p.earliestServiceTime(rec.Intent.At), To: until,
		})
	}
}

// removeMarks removes the marks of a call with the next save.
func (p *pending) removeMarks(r *journal.Run, s *journal.Step, rec *record) {
	if rec.Intent != nil && rec.Intent.Elsewhere {
		put(&p.ended, markedCall{r.ID, s.N}, true)
	}
}

// endCall ends a call that will not be repeated automatically: no event waits for it any longer. If
// its effect is unknown, marks stay, so that its events are recognised when they come.
func (p *pending) endCall(r *journal.Run, s *journal.Step, rec *record) {
	if rec.Intent == nil || r.ID == 0 {
		return
	}
	p.removeMarks(r, s, rec)
	if rec.isOpen() && !rec.Tried.IsZero() {
		p.addMarks(r, s, rec, p.now())
	}
}

// collectEndedMarks puts the marks of ended calls into the change that is about to be saved.
func (v *visit) collectEndedMarks(ctx context.Context) error {
	if len(v.ended) == 0 {
		return nil
	}
	list, err := v.engine.journal.Caused(ctx, v.lane.Workspace, "", []string{unknownObject}, time.Time{})
	if err != nil {
		return fmt.Errorf("look for marks: %w", err)
	}
	for i := range list {
		for call := range v.ended {
			if isMarkOf(&list[i], call) {
				v.change.Gone = append(v.change.Gone, list[i].ID)
			}
		}
	}
	clear(v.ended)
	return nil
}

// contentOf decodes what a mark records of its call; nil if there is nothing, as after the person
// it was about has been erased.
func contentOf(c *journal.Caused) *markContent {
	content := &markContent{}
	if err := json.Unmarshal(c.Set, content); err != nil || content.Intent == nil {
		return nil
	}
	return content
}

// isMarkOf reports whether a mark belongs to a call. A mark without content belongs to all calls of
// its run.
func isMarkOf(c *journal.Caused, call markedCall) bool {
	if c.Run != call.Run {
		return false
	}
	content := contentOf(c)
	return content == nil || content.Step == call.Step
}

// checkMarks finds out whether an event may be caused by a call without an answer. An
// *openCallError says that the event has to wait. If such a call did cause it, checkMarks
// attributes the event to the call, and reports that.
func (v *visit) checkMarks(ctx context.Context, e *journal.Event, f *facts, marks []*journal.Caused, again bool) (adopted bool, err error) {
	var doubtful []*journal.Caused
	for _, c := range marks {
		switch early := recordedBy(e, c.After) || e.CreatedAt.Before(c.From.Add(-clockSlack)); {
		case early || e.CreatedAt.After(v.latestServiceTime(c.To).Add(v.workspace.Timeout+afterCall)):
		case !again && v.now().Before(c.To):
			return false, &openCallError{until: c.To}
		default:
			doubtful = append(doubtful, c)
		}
	}
	for _, c := range doubtful {
		content := contentOf(c)
		if content == nil {
			continue
		}
		made, err := v.madeByCall(ctx, f, content.Verb, content.Intent)
		if err != nil {
			return false, err
		}
		if made {
			v.change.Gone = append(v.change.Gone, c.ID)
			v.attributeToCall(f, journal.Caused{Run: c.Run, Rule: c.Rule, Ancestry: c.Ancestry, After: c.After, From: c.From})
			return true, nil
		}
	}
	return false, nil
}

// madeByCall asks the action of a verb whether a call made the object that an event is about. An
// object that cannot be read was not made by it.
func (v *visit) madeByCall(ctx context.Context, f *facts, verb string, i *actions.Intent) (bool, error) {
	action := v.workspace.Actions.Action(verb)
	if action == nil {
		return false, nil
	}
	if err := f.load(ctx); err != nil {
		return false, err
	}
	made, err := action.Made(f.asking(ctx), *i, *f.about)
	switch {
	case err == nil:
		return made, nil
	case actions.IsPermanent(err):
		return false, nil
	}
	return false, &deskError{err}
}
