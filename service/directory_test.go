package service

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// office is a service whose lists can change, on a clock that can be moved.
type office struct {
	mu     sync.Mutex
	now    time.Time
	lists  map[string]string // by path
	asked  map[string]int
	status int
}

func (o *office) directory(t *testing.T) *Directory {
	t.Helper()
	o.asked = map[string]int{}
	o.now = at2000
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		path := strings.TrimPrefix(r.URL.Path, "/self/hosted/v1")
		o.asked[path]++
		if o.status != 0 {
			answer(o.status, `{}`)(w, r)
			return
		}
		answer(200, o.lists[path])(w, r)
	}, func(opt *Options) {
		opt.Now = func() time.Time { o.mu.Lock(); defer o.mu.Unlock(); return o.now }
	})
	return NewDirectory(c)
}

func (o *office) set(f func()) { o.mu.Lock(); defer o.mu.Unlock(); f() }

func TestDirectoryFindsEveryKind(t *testing.T) {
	o := &office{lists: map[string]string{
		"/labels": listOf(jsonLabel), "/sectors": listOf(jsonSector), "/team": listOf(jsonPerson), "/channels": listOf(jsonChannel),
		"/kanban/boards": "[" + jsonBoard + "]", "/kanban/boards/" + idBoard: jsonBoard,
	}}
	d := o.directory(t)
	for kind, want := range map[Kind][2]string{
		KindLabel: {"vip", idLabel}, KindSector: {"Support", idSector}, KindPerson: {"Ana", idPerson}, KindChannel: {"Main", idChannel}, KindBoard: {"Sales", idBoard},
	} {
		id, err := d.ID(t.Context(), kind, strings.ToUpper(want[0]))
		if id != want[1] || err != nil {
			t.Errorf("%s: %q, %v", kind, id, err)
		}
		if name, err := d.Name(t.Context(), kind, want[1]); name != want[0] || err != nil {
			t.Errorf("%s: %q, %v", kind, name, err)
		}
	}
	if id, err := d.StageID(t.Context(), "sales", "won"); id != idStage2 || err != nil {
		t.Errorf("stage: %q, %v", id, err)
	}
	if name, err := d.StageName(t.Context(), idBoard, idStage); name != "Lead" || err != nil {
		t.Errorf("stage: %q, %v", name, err)
	}
	for path, n := range o.asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

func TestDirectoryRefreshesForAMissingName(t *testing.T) {
	o := &office{lists: map[string]string{"/labels": listOf(jsonLabel)}}
	d := o.directory(t)
	if _, err := d.ID(t.Context(), KindLabel, "vip"); err != nil {
		t.Fatal(err)
	}
	o.set(func() { o.lists["/labels"] = listOf(jsonLabel, fill(`{"id":"$other","name":"new"}`)) })
	for range 3 { // a wrong name does not hammer the service
		if _, err := d.ID(t.Context(), KindLabel, "new"); err == nil {
			t.Fatal("found before the list may be fetched again")
		}
	}
	o.set(func() { o.now = o.now.Add(directoryPause) })
	if id, err := d.ID(t.Context(), KindLabel, "new"); id != idOther || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	if o.asked["/labels"] != 2 {
		t.Errorf("asked %d times, want 2", o.asked["/labels"])
	}
}

func TestDirectoryMatching(t *testing.T) {
	o := &office{lists: map[string]string{"/sectors": `[{"id":"1","name":"Suporte"},{"id":"2","name":"Cobrança"},{"id":"3","name":"Pós-venda"},{"id":"4","name":"Pos-venda"},{"id":"5","name":"Dobro"},{"id":"6","name":"dobro"}]`}}
	d := o.directory(t)
	for name, want := range map[string]string{" suporte ": "1", "COBRANCA": "2", "cobranc\u0327a": "2", "pós-venda": "3", "pos-venda": "4", idOther: idOther} {
		if id, err := d.ID(t.Context(), KindSector, name); id != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", name, id, err, want)
		}
	}
	_, err := d.ID(t.Context(), KindSector, "DOBRO")
	if e, ok := errors.AsType[*NameError](err); !ok || !cmp.Equal(e.IDs, []string{"5", "6"}) || !strings.Contains(err.Error(), "one of 5, 6") {
		t.Errorf("an ambiguous name: %v", err)
	}
	_, err = d.ID(t.Context(), KindSector, "suprte")
	if e, ok := errors.AsType[*NameError](err); !ok || !cmp.Equal(e.Near, []string{"Suporte"}) || err.Error() != `there is no sector named "suprte"; did you mean Suporte?` {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := d.ID(t.Context(), KindMessage, "x"); !errors.Is(err, errUnknownKind) {
		t.Errorf("a kind without names: %v", err)
	}
}

func TestDirectoryAsksOnceForMany(t *testing.T) {
	var calls atomic.Int32
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		time.Sleep(20 * time.Millisecond)
		answer(200, listOf(jsonLabel))(w, r)
	})
	d := NewDirectory(c)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if id, err := d.ID(context.Background(), KindLabel, "vip"); id != idLabel || err != nil {
				t.Errorf("%q, %v", id, err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d requests", calls.Load())
	}
}

func TestDirectoryOutlivesAFailure(t *testing.T) {
	o := &office{lists: map[string]string{"/labels": listOf(jsonLabel)}}
	d := o.directory(t)
	if _, err := d.ID(t.Context(), KindLabel, "vip"); err != nil {
		t.Fatal(err)
	}
	o.set(func() { o.status, o.now = 503, o.now.Add(directoryMaxAge) })
	if id, err := d.ID(t.Context(), KindLabel, "vip"); id != idLabel || err != nil {
		t.Errorf("an old answer is better than none: %q, %v", id, err)
	}
	if _, err := d.ID(t.Context(), KindLabel, "other"); !IsTemporary(err) {
		t.Errorf("an unknown name while the service is down: %v", err)
	}
	o.set(func() { o.status, o.now = 0, o.now.Add(directoryPause) })
	if _, err := d.ID(t.Context(), KindLabel, "other"); IsTemporary(err) || err == nil {
		t.Errorf("an unknown name when it is back: %v", err)
	}
}
