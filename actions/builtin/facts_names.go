package builtin

import (
	"context"
	"errors"
	"net/http"

	"github.com/quandohq/quando/service"
)

func (f *Facts) nameConversation(ctx context.Context, fact map[string]any) error {
	if err := f.name(ctx, fact, "channel", "channel_name", service.KindChannel); err != nil {
		return err
	}
	return f.nameResponsible(ctx, fact)
}

// nameResponsible names the person and the sector of a conversation or an attendance.
func (f *Facts) nameResponsible(ctx context.Context, fact map[string]any) error {
	if err := f.name(ctx, fact, "assignee", "assignee_name", service.KindPerson); err != nil {
		return err
	}
	return f.name(ctx, fact, "sector", "sector_name", service.KindSector)
}

func (f *Facts) nameCard(ctx context.Context, fact map[string]any) error {
	if err := f.name(ctx, fact, "board_id", "board_name", service.KindBoard); err != nil {
		return err
	}
	if err := f.nameStage(ctx, fact, "stage_id", "stage_name"); err != nil {
		return err
	}
	return f.nameStage(ctx, fact, "from_stage_id", "from_stage_name")
}

// name puts the name of what a field refers to into another field, unless it is there.
func (f *Facts) name(ctx context.Context, fact map[string]any, id, name string, kind service.Kind) error {
	text, ok := fact[id].(string)
	if !ok || fact[name] != nil {
		return nil
	}
	found, err := f.directory.Name(ctx, kind, text)
	return put(fact, name, found, err)
}

func (f *Facts) nameStage(ctx context.Context, fact map[string]any, id, name string) error {
	stage, ok := fact[id].(string)
	board, known := fact["board_id"].(string)
	if !ok || !known || fact[name] != nil {
		return nil
	}
	found, err := f.directory.StageName(ctx, board, stage)
	return put(fact, name, found, err)
}

// put takes a name that was found. A key that may not read the list of names, or a list that is not there, leaves it nil: a step
// must not fail, nor a workspace stop, for a name that the rule may never look at.
func put(fact map[string]any, name, found string, err error) error {
	if e, ok := errors.AsType[*service.Error](err); ok && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound) {
		return nil
	}
	if err == nil && found != "" {
		fact[name] = found
	}
	return err
}
