package contract_test

import (
	"errors"
	"testing"
	"time"

	"github.com/quandohq/quando/service"
)

// The names that people write in rules lead to the sandbox's ids, and back.
func TestDirectory(t *testing.T) {
	w := newWorld(t)
	clock := newSimulated(friday)
	c := w.client(w.APIKey(), clock.use)
	dir := service.NewDirectory(c)
	for kind, named := range map[service.Kind]struct{ written, name, id string }{
		service.KindLabel:   {"VIP", "vip", w.label},
		service.KindSector:  {" support ", "Support", w.sector},
		service.KindPerson:  {"ana", "Ana", w.person},
		service.KindChannel: {"Main", "Main", w.channel},
		service.KindBoard:   {"sales", "Sales", w.board},
	} {
		t.Run(string(kind), func(t *testing.T) {
			want(t, "id", must(dir.ID(w.ctx, kind, named.written))(t), named.id)
			want(t, "id of an id", must(dir.ID(w.ctx, kind, named.id))(t), named.id)
			want(t, "name", must(dir.Name(w.ctx, kind, named.id))(t), named.name)
			want(t, "name of nothing", must(dir.Name(w.ctx, kind, absent))(t), "")
			_, err := dir.ID(w.ctx, kind, "no such thing")
			if e, ok := errors.AsType[*service.NameError](err); !ok || e.Kind != kind {
				t.Errorf("a name that is not there: %v", err)
			}
		})
	}
	t.Run("stage", func(t *testing.T) {
		want(t, "id by the board's name", must(dir.StageID(w.ctx, "Sales", "won"))(t), w.won)
		want(t, "id by the board's id", must(dir.StageID(w.ctx, w.board, "Lead"))(t), w.lead)
		want(t, "name", must(dir.StageName(w.ctx, w.board, w.lead))(t), "Lead")
		_, err := dir.StageID(w.ctx, "Attendances", "Won")
		if _, ok := errors.AsType[*service.NameError](err); !ok {
			t.Errorf("a stage of another board: %v", err)
		}
	})
	t.Run("a label that is added later", func(t *testing.T) {
		dir := service.NewDirectory(c)
		_, err := dir.ID(w.ctx, service.KindLabel, "segunda-feira")
		if _, ok := errors.AsType[*service.NameError](err); !ok {
			t.Fatalf("before: %v", err)
		}
		noError(t, w.AddState([]byte(`{"labels":[{"name":"Segunda-Feira"},{"name":"proposta aceita"}]}`)))
		clock.move(10 * time.Second) // a missing name is not asked for again at once
		id := must(dir.ID(w.ctx, service.KindLabel, "segunda-feira"))(t)
		contact := must(c.UpdateContact(w.ctx, w.contact, service.ContactPatch{LabelIDs: service.Set([]string{id})}))(t)
		same(t, "labels", contact.LabelIDs, []string{id})
		asked := len(w.wire.exchanges())
		must(dir.ID(w.ctx, service.KindLabel, "Proposta aceita"))(t)
		must(dir.ID(w.ctx, service.KindLabel, "vip"))(t)
		want(t, "requests for names that are known", len(w.wire.exchanges())-asked, 0)
	})
	t.Run("a name that two have", func(t *testing.T) {
		noError(t, w.AddState([]byte(`{"people":[{"name":"Célia"},{"name":"Celia"}]}`)))
		clock.move(10 * time.Second)
		if must(dir.ID(w.ctx, service.KindPerson, "célia"))(t) == must(dir.ID(w.ctx, service.KindPerson, "celia"))(t) {
			t.Error("an accent does not tell them apart")
		}
	})
}
