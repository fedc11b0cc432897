package contract_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
)

// The sandbox understands every way that a profile may choose to write cards.
func TestCardProfiles(t *testing.T) {
	for name, set := range map[string]func(*service.CardProfile){
		"version in the header, bare": func(p *service.CardProfile) { p.IfMatch = "bare" },
		"version in the body":         func(p *service.CardProfile) { p.VersionIn = "body" },
		"version in both":             func(p *service.CardProfile) { p.VersionIn = "both" },
		"due dates without a time":    func(p *service.CardProfile) { p.DueFormat = "date" },
		"cards found in the list":     func(p *service.CardProfile) { p.Get = service.CardOperation{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			profile := service.DefaultProfile()
			set(&profile.Cards)
			c := w.client(w.APIKey(), func(o *service.Options) { o.Profile = &profile })
			due := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
			made := must(c.CreateCard(w.ctx, uuid.NewString(), service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Offer", DueDate: &due}))(t)
			later := due.AddDate(0, 0, 1)
			edited := must(c.UpdateCard(w.ctx, made.ID, made.Version, service.CardPatch{DueDate: service.Set(later)}))(t)
			if edited.DueDate == nil || !edited.DueDate.Equal(later) {
				t.Errorf("due %v, want %v", edited.DueDate, later)
			}
			_, err := c.MoveCard(w.ctx, uuid.NewString(), made.ID, made.Version, w.won)
			want(t, "the old version is a conflict", service.IsVersionConflict(err), true)
			moved := must(c.MoveCard(w.ctx, uuid.NewString(), made.ID, edited.Version, w.won))(t)
			read := must(c.GetCard(w.ctx, made.ID))(t)
			same(t, "read again", read, moved.Card)
			if _, err := c.GetCard(w.ctx, absent); !service.IsNotFound(err) {
				t.Errorf("a card that is not there: %v", err)
			}
		})
	}
}
