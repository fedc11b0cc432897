package builtin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/quandohq/quando/service"
)

// Facts turns the service's objects into what expressions see of them: maps with exactly the fields
// of the types in package rules. Fields that the service leaves out are nil, as are empty names;
// other texts are empty instead. The names of labels are nil until they are asked for.
type Facts struct {
	directory *service.Directory
	own       func(context.Context, service.Message) (bool, error)
}

// NewFacts returns Facts that look up names in a directory. own reports whether the engine itself
// sent a message; nil means never.
func NewFacts(d *service.Directory, own func(context.Context, service.Message) (bool, error)) *Facts {
	if own == nil {
		own = func(context.Context, service.Message) (bool, error) { return false, nil }
	}
	return &Facts{directory: d, own: own}
}

// Message returns the facts of a message.
func (f *Facts) Message(ctx context.Context, m service.Message) (map[string]any, error) {
	fact := messageFact(m)
	return fact, f.markOwn(ctx, fact, m)
}

// markOwn marks the fact of a message that the engine itself sent.
func (f *Facts) markOwn(ctx context.Context, fact map[string]any, m service.Message) error {
	if m.Direction == service.Inbound {
		return nil // it is the customer's
	}
	own, err := f.own(ctx, m)
	if own {
		fact["by"] = "engine"
	}
	return err
}

// Messages returns the facts of several messages.
func (f *Facts) Messages(ctx context.Context, list []service.Message) ([]any, error) {
	out := make([]any, 0, len(list))
	for _, m := range list {
		fact, err := f.Message(ctx, m)
		if err != nil {
			return nil, err
		}
		out = append(out, fact)
	}
	return out, nil
}

// Conversation returns the facts of a conversation.
func (f *Facts) Conversation(ctx context.Context, c service.Conversation) (map[string]any, error) {
	fact := conversationFact(c)
	if c.LastMessage != nil {
		last := fact["last_message"].(map[string]any)
		if err := f.markOwn(ctx, last, *c.LastMessage); err != nil {
			return nil, err
		}
		last["conversation_id"] = fact["id"]
	}
	return fact, f.nameConversation(ctx, fact)
}

// Contact returns the facts of a contact.
func (f *Facts) Contact(c service.Contact) map[string]any { return contactFact(c) }

// Attendance returns the facts of an attendance.
func (f *Facts) Attendance(ctx context.Context, a service.Attendance) (map[string]any, error) {
	fact := attendanceFact(a)
	return fact, f.nameResponsible(ctx, fact)
}

// Card returns the facts of a card.
func (f *Facts) Card(ctx context.Context, c service.Card) (map[string]any, error) {
	fact := cardFact(c)
	return fact, f.nameCard(ctx, fact)
}

// MovedCard returns the facts of a card as in kanban.card.moved: with the stage it left, and who
// moved it.
func (f *Facts) MovedCard(ctx context.Context, c service.Card, fromStage, by string) (map[string]any, error) {
	fact := cardFact(c)
	fact["from_stage_id"], fact["moved_by"] = orNil(fromStage), orNil(by)
	return fact, f.nameCard(ctx, fact)
}

// Assignment returns the facts of one entry of a conversation's history.
func (f *Facts) Assignment(a service.Assignment) map[string]any {
	return map[string]any{
		"action": orNil(a.Action), "person": orNil(a.UserID), "sector": orNil(a.SectorID), "reason": orNil(a.Reason), "at": timeOrNil(&a.At),
	}
}

// Report returns the facts of the manager's report.
func (f *Facts) Report(r service.Report) map[string]any {
	fact := totalsFact(r.Totals)
	for name, rows := range map[string][]service.ReportRow{"by_person": r.ByPerson, "by_sector": r.BySector, "by_day": r.ByDay} {
		list := make([]any, len(rows))
		for i, row := range rows {
			item := totalsFact(row.Totals)
			if name == "by_day" {
				item["day"] = orNil(row.Day)
			} else {
				item["id"], item["name"] = orNil(row.ID), orNil(row.Name)
			}
			list[i] = item
		}
		fact[name] = list
	}
	return fact
}

func totalsFact(t service.Totals) map[string]any {
	seconds := func(d *time.Duration) any {
		if d == nil {
			return nil
		}
		return d.Seconds()
	}
	return map[string]any{
		"opened": float64(t.Opened), "closed": float64(t.Closed),
		"first_response_seconds": seconds(t.FirstResponse), "resolution_seconds": seconds(t.Resolution),
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNil(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	return *t
}

func listOf(ids []string) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

func (f *Facts) nameConversation(ctx context.Context, fact map[string]any) error {
	if err := f.addName(ctx, fact, "channel", "channel_name", service.KindChannel); err != nil {
		return err
	}
	return f.nameResponsible(ctx, fact)
}

// nameResponsible adds the names of the assignee and the sector of a conversation or an attendance.
func (f *Facts) nameResponsible(ctx context.Context, fact map[string]any) error {
	if err := f.addName(ctx, fact, "assignee", "assignee_name", service.KindPerson); err != nil {
		return err
	}
	return f.addName(ctx, fact, "sector", "sector_name", service.KindSector)
}

func (f *Facts) nameCard(ctx context.Context, fact map[string]any) error {
	if err := f.addName(ctx, fact, "board_id", "board_name", service.KindBoard); err != nil {
		return err
	}
	if err := f.nameStage(ctx, fact, "stage_id", "stage_name"); err != nil {
		return err
	}
	return f.nameStage(ctx, fact, "from_stage_id", "from_stage_name")
}

// addName sets a field to the name of the object that another field refers to, unless it is set.
func (f *Facts) addName(ctx context.Context, fact map[string]any, id, name string, kind service.Kind) error {
	text, ok := fact[id].(string)
	if !ok || fact[name] != nil {
		return nil
	}
	found, err := f.directory.Name(ctx, kind, text)
	return setName(fact, name, found, err)
}

func (f *Facts) nameStage(ctx context.Context, fact map[string]any, id, name string) error {
	stage, ok := fact[id].(string)
	board, known := fact["board_id"].(string)
	if !ok || !known || fact[name] != nil {
		return nil
	}
	found, err := f.directory.StageName(ctx, board, stage)
	return setName(fact, name, found, err)
}

// setName sets a name that was looked up. It leaves the name nil if the key may not read the list
// of names, or the list does not exist: a step must not fail, nor a workspace stop, for a name that
// the rule may never use.
func setName(fact map[string]any, name, found string, err error) error {
	if e, ok := errors.AsType[*service.Error](err); ok && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound) {
		return nil
	}
	if err == nil && found != "" {
		fact[name] = found
	}
	return err
}
