package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

// storyBegins bounds the search for a story to begin with.
const storyBegins = 4 * time.Second

// storyAnswer is a story as it was told, with the parts of the page that show it.
type storyAnswer struct {
	Story   *proof.Story `json:"story,omitempty"`
	Chat    string       `json:"chat"`
	Entries string       `json:"entries,omitempty"`
}

// chatView is a conversation, or why there is none.
type chatView struct {
	Lines []proof.Line
	Wrong string
	Quiet bool // the rule does nothing in it
}

// A storyEntry is an entry with its words.
type storyEntry struct {
	proof.Entry
	Words string
	Local string
	Says  bool // there is something to write
}

// writeStory tells a made-up story with the rule as it is written. Without a story it finds one in
// which the rule does something.
func (c *Console) writeStory(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	var story *proof.Story
	if text := q.r.PostFormValue("story"); text != "" {
		if story, err = proof.ReadStory(text, f.space.Location); err != nil {
			return problem(http.StatusBadRequest, "error.form")
		}
	}
	answer := &storyAnswer{}
	err = c.trial(q, func(ctx context.Context) error {
		set, err := f.tried(ctx, q.words().RulesLanguage())
		if err != nil {
			return err
		}
		if story != nil && q.r.PostFormValue("off") != "" {
			story.OnDayOff(set, set.Rule(f.rule))
		}
		told, trial, err := c.tell(ctx, q, f, set, story)
		if err != nil {
			return err
		}
		return c.showStory(q, f, set, told, trial, answer)
	})
	if told, ok := errors.AsType[*pageError](err); ok && told.status == http.StatusConflict {
		answer.Chat, err = q.renderPart("write", "chat", chatView{Wrong: q.words().T(told.key, told.args...)})
	}
	if err != nil {
		return err
	}
	return q.json(answer)
}

// tell runs a story. Without one it begins with the first of some in which the rule does something.
func (c *Console) tell(ctx context.Context, q *request, f *draftFile, set *rules.Set, story *proof.Story) (*proof.Story, *ruletest.Trial, error) {
	if story != nil {
		trial, err := c.runStory(ctx, f, set, story)
		return story, trial, err
	}
	end := time.Now().Add(c.searching)
	list := proof.Beginnings(set, set.Rule(f.rule), q.now.In(f.space.Location), q.words().T("chat.hello"))
	for _, s := range list {
		trial, err := c.runStory(ctx, f, set, s)
		if err == nil && len(trial.Effects) > 0 {
			s.Fit(proof.Last(trial))
			trial, err = c.runStory(ctx, f, set, s)
			return s, trial, err
		}
		if ctx.Err() != nil || time.Now().After(end) {
			break
		}
	}
	trial, err := c.runStory(ctx, f, set, list[0])
	return list[0], trial, err
}

// runStory runs a story in an imitation of the service of its own.
func (c *Console) runStory(ctx context.Context, f *draftFile, set *rules.Set, s *proof.Story) (*ruletest.Trial, error) {
	trial, err := ruletest.Try(ctx, ruletest.Options{Set: set, Media: f.space.Editing.Media, Location: f.space.Location}, s.Test(set))
	wrong, ok := errors.AsType[*ruletest.StoryError](err)
	switch {
	case ok && strings.Contains(wrong.Message, "do not come to rest"):
		return nil, problem(http.StatusConflict, "chat.restless")
	case ok:
		return nil, problem(http.StatusConflict, "chat.impossible")
	}
	return trial, err
}

// showStory fills in the parts of the page that show a story.
func (c *Console) showStory(q *request, f *draftFile, set *rules.Set, s *proof.Story, trial *ruletest.Trial, answer *storyAnswer) (err error) {
	fields, err := form.Read(f.space.Editing.Rules.Catalog, []byte(f.text), f.rule)
	if err != nil {
		return problem(http.StatusConflict, "error.form_text")
	}
	maker := studioMaker(q.words(), f)
	teller := proof.Teller{
		Language: q.words(), Rule: f.rule, Name: engine.Harmless(cmp.Or(fields.Name, f.rule)),
		Condition: func(text string) string { return maker.ConditionWords(fields, text) }, Span: func(text string) string { return maker.SpanWords(fields, text) },
	}
	if answer.Chat, err = q.renderPart("write", "chat", chatView{Lines: teller.Chat(s, trial, set), Quiet: len(trial.Effects) == 0}); err != nil {
		return err
	}
	answer.Story = s
	answer.Entries, err = q.renderPart("write", "story", c.storyView(q, f, set, s))
	return err
}

// storyPart is what the page needs to change a story.
type storyPart struct {
	Customer string
	Labels   []optionView // that the rule names
	Entries  []storyEntry
	Until    string
	Adds     []string
	Off      bool // there are days off
	Zone     string
}

func (c *Console) storyView(q *request, f *draftFile, set *rules.Set, s *proof.Story) storyPart {
	v := storyPart{Customer: s.Customer, Until: s.Until.Format(proof.Clock), Zone: f.space.Location.String(), Off: len(set.Calendars) > 0, Adds: []string{proof.Customer, proof.Team, proof.Takes, proof.Closes}}
	for _, name := range proof.LabelsOf(set) {
		v.Labels = append(v.Labels, optionView{name, engine.Harmless(name), slices.Contains(s.Labels, name)})
	}
	for _, e := range s.Entries {
		words := q.words().Or("chat.do.", e.Do)
		if e.Do == proof.Event {
			words = q.words().Or("when.", e.Text)
		}
		v.Entries = append(v.Entries, storyEntry{Entry: e, Words: words, Local: e.At.Format(proof.Clock), Says: e.Do == proof.Customer || e.Do == proof.Team || e.Do == proof.Moves})
	}
	return v
}
