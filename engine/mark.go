package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
)

// elsewhere stands for the object of an event that a call without an answer may cause: only the
// answer tells which object it is, and in which lane its events come. Such a Caused is a mark.
// Until its To, events like the call's wait for the answer, in the whole workspace; after it the
// action is asked whether they are the call's. A mark goes with the answer.
const elsewhere = "?"

// A markedCall is a call of a step that may have a mark.
type markedCall struct {
	Run  int64
	Step int // its place in the run
}

// A markContent is what a mark says of its call.
type markContent struct {
	Step   int             `json:"step"`
	Verb   string          `json:"verb"`
	Intent *actions.Intent `json:"intent"`
}

// mark announces the events of a call that has no answer. Events like them wait until a time.
func (p *pending) mark(r *journal.Run, s *journal.Step, rec *record, until time.Time) {
	content, err := json.Marshal(markContent{s.N, s.Verb, rec.Intent})
	if err != nil {
		content = nil // the change is refused for the same intent in the step's record
	}
	for _, event := range rec.Intent.Emits {
		p.change.Caused = append(p.change.Caused, journal.Caused{
			Workspace: r.Workspace, Lane: p.lane.Name, Event: event, Object: elsewhere, Set: content, Run: r.ID, Rule: r.Rule, Ancestry: r.Ancestry,
			After: rec.Intent.After, From: p.servedFrom(rec.Intent.At), To: until,
		})
	}
}

// unmark takes the marks of a call away with the next save.
func (p *pending) unmark(r *journal.Run, s *journal.Step, rec *record) {
	if rec.Intent != nil && rec.Intent.Elsewhere {
		put(&p.ended, markedCall{r.ID, s.N}, true)
	}
}

// endCall ends a call that will not be made again by itself: no event waits for it any more. Where
// its effect is not known, a mark stays by which its events are recognised when they come.
func (p *pending) endCall(r *journal.Run, s *journal.Step, rec *record) {
	if rec.Intent == nil || r.ID == 0 {
		return
	}
	p.unmark(r, s, rec)
	if (rec.Doubt || !rec.Answered) && !rec.Confirmed && !rec.Tried.IsZero() {
		p.mark(r, s, rec, p.now())
	}
}

// takeMarks puts the marks of calls that have ended into the change that is about to be saved.
func (v *visit) takeMarks(ctx context.Context) error {
	if len(v.ended) == 0 {
		return nil
	}
	list, err := v.engine.journal.Caused(ctx, v.lane.Workspace, "", []string{elsewhere})
	if err != nil {
		return fmt.Errorf("look for marks: %w", err)
	}
	for i := range list {
		for call := range v.ended {
			if isOf(&list[i], call) {
				v.change.Gone = append(v.change.Gone, list[i].ID)
			}
		}
	}
	clear(v.ended)
	return nil
}

// content reads what a mark says of its call; nil where it says nothing, as when the person has
// been forgotten whom it was about.
func contentOf(c *journal.Caused) *markContent {
	content := &markContent{}
	if err := json.Unmarshal(c.Set, content); err != nil || content.Intent == nil {
		return nil
	}
	return content
}

// isOf reports whether a mark is that of a call. One that does not say of which call it is belongs
// to all of its run.
func isOf(c *journal.Caused, call markedCall) bool {
	if c.Run != call.Run {
		return false
	}
	content := contentOf(c)
	return content == nil || content.Step == call.Step
}

// heedMarks finds out whether an event may be the doing of a call without an answer. An
// *openCallError says that it has to wait. It reports whether the event is such a call's: then it
// is adopted.
func (v *visit) heedMarks(ctx context.Context, e *journal.Event, f *facts, marks []*journal.Caused, again bool) (adopted bool, err error) {
	var doubtful []*journal.Caused
	for _, c := range marks {
		switch early := isUpTo(e, c.After) || e.CreatedAt.Before(c.From.Add(-clockSlack)); {
		case early || e.CreatedAt.After(v.servedTo(c.To).Add(v.workspace.Timeout+afterCall)):
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
		made, err := v.made(ctx, f, content.Verb, content.Intent)
		if err != nil {
			return false, err
		}
		if made {
			v.change.Gone = append(v.change.Gone, c.ID)
			v.adopt(f, journal.Caused{Run: c.Run, Rule: c.Rule, Ancestry: c.Ancestry, After: c.After, From: c.From})
			return true, nil
		}
	}
	return false, nil
}

// made asks the action of a verb whether what an event is about came of a call. An object that
// cannot be read did not.
func (v *visit) made(ctx context.Context, f *facts, verb string, i *actions.Intent) (bool, error) {
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
