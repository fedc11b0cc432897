package builtin_test

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// TestOfflineReadsTheSame reads a desk's events with and without the service.
func TestOfflineReadsTheSame(t *testing.T) {
	own := func(_ context.Context, m service.Message) (bool, error) { return m.ClientID != "", nil }
	d := newDesk(t, func(o *builtin.Options) { o.Own = own })
	directory := service.NewDirectory(d.client)
	if err := directory.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	offline := builtin.NewOffline(builtin.OfflineOptions{Snapshot: directory.Snapshot(), Own: own})
	for _, e := range d.raiseEvents() {
		want, wantAbout, err := d.tells.Carried(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		got, about, err := offline.Carried(t.Context(), e)
		if diff := cmp.Diff(want, got); diff != "" || about != wantAbout || err != nil {
			t.Errorf("%s: %+v, %v (-with +without):\n%s", e.Type, about, err, diff)
		}
	}
	labels := m{"label_ids": []any{d.id(service.KindLabel, "vip")}}
	for name, want := range map[string]bool{"vip": true, "proposal-sent": false} {
		if has, err := offline.HasLabel(t.Context(), labels, name); has != want || err != nil {
			t.Errorf("%s: %v, %v", name, has, err)
		}
	}
	if _, err := offline.HasLabel(t.Context(), labels, "unheard-of"); err == nil {
		t.Error("a label that nobody knows is no error")
	}
	if names, err := offline.LabelNames(t.Context(), labels); !cmp.Equal(names, []any{"vip"}) || err != nil {
		t.Errorf("the labels are %v, %v", names, err)
	}
	if names, err := offline.LabelNames(t.Context(), m{"label_ids": []any{"unknown"}}); !actions.IsPermanent(err) {
		t.Errorf("a label without a known name gives %v, %v", names, err)
	}
}

// TestOfflineMovedCard shows that a card that would have to be fetched is missing.
func TestOfflineMovedCard(t *testing.T) {
	d := newDesk(t)
	heard := d.newEvents()
	must(d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: "Follow-up", Person: "Bruno"}))
	e := heard()[0]
	e.Data = maps.Clone(e.Data)
	e.Data["card"] = m{"id": d.card}
	facts, about, err := builtin.NewOffline(builtin.OfflineOptions{}).Carried(t.Context(), e)
	if err != nil || facts["card"] != nil || about.Card != d.card {
		t.Errorf("%v, %+v, %v", facts, about, err)
	}
}
