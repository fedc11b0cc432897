package service

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDirectoryWithoutAService(t *testing.T) {
	o := &office{lists: map[string]string{
		"/labels": listOf(jsonLabel), "/sectors": listOf(jsonSector), "/team": listOf(jsonPerson), "/channels": listOf(jsonChannel),
		"/kanban/boards": "[" + jsonBoard + "]", "/kanban/boards/" + idBoard: jsonBoard,
	}}
	d := o.directory(t)
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(d.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSnapshot(string(kept))
	if err != nil {
		t.Fatal(err)
	}
	offline := NewOfflineDirectory(s)
	for kind, want := range map[Kind][2]string{
		KindLabel: {"vip", idLabel}, KindSector: {"Support", idSector}, KindPerson: {"Ana", idPerson}, KindChannel: {"Main", idChannel}, KindBoard: {"Sales", idBoard},
	} {
		id, err := offline.ID(t.Context(), kind, want[0])
		name, nameErr := offline.Name(t.Context(), kind, want[1])
		if id != want[1] || name != want[0] || err != nil || nameErr != nil {
			t.Errorf("%s: %q, %q, %v, %v", kind, id, name, err, nameErr)
		}
	}
	if id, err := offline.StageID(t.Context(), "Sales", "Lead"); id != idStage || err != nil {
		t.Errorf("a stage: %q, %v", id, err)
	}
	if _, err := offline.ID(t.Context(), KindLabel, "nobody"); !isNameError(err) {
		t.Errorf("a label that is not there: %v", err)
	}
	if name, err := offline.StageName(t.Context(), idOther, idStage); name != "" || err != nil {
		t.Errorf("a board that is not there: %q, %v", name, err)
	}
}

func isNameError(err error) bool { _, ok := errors.AsType[*NameError](err); return ok }

// TestSnapshotKeepsWhatCannotBeReadNow: a list that fails today is the one of yesterday.
func TestSnapshotKeepsWhatCannotBeReadNow(t *testing.T) {
	o := &office{lists: map[string]string{"/labels": listOf(jsonLabel), "/sectors": listOf(jsonSector), "/team": "[]", "/channels": "[]", "/kanban/boards": "[]"}}
	d := o.directory(t)
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := d.Snapshot()
	o.set(func() { o.now = o.now.Add(time.Hour); o.lists["/labels"] = "[]" })
	if _, err := d.Names(t.Context(), KindLabel); err != nil {
		t.Fatal(err)
	}
	fresh := NewDirectory(d.client)
	if _, err := fresh.Names(t.Context(), KindLabel); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Snapshot(), before.With(fresh.Snapshot())); diff != "" {
		t.Error(diff)
	}
	o.set(func() { o.now = o.now.Add(time.Hour); o.status = 403 })
	if err := NewDirectory(d.client).Load(t.Context()); err != nil {
		t.Errorf("a key that may read nothing: %v", err)
	}
	o.set(func() { o.now = o.now.Add(time.Hour); o.status = 400 })
	if err := NewDirectory(d.client).Load(t.Context()); err == nil {
		t.Error("a service that refuses is no error")
	}
}
