//go:build cgo

package sqlite

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
)

// TestDrafts opens a journal of schema 8 that an engine left when it crashed: one run is finished,
// two are drafts.
func TestDrafts(t *testing.T) {
	t.Parallel()
	file := unpacked(t, "testdata/drafts.db.gz")
	k, err := OpenKeeper(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := k.Check(t.Context(), func(string) {}); err != nil || len(report.Findings) > 0 {
		t.Errorf("%v %v", report, err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	j := open(t, file, Options{})
	lanes, err := j.Claim(t.Context(), time.Now().Add(time.Hour), 10, nil)
	if err != nil || len(lanes) != 2 {
		t.Fatalf("%d lanes are due: %v", len(lanes), err)
	}
	steps := map[string][]*journal.Step{
		"lane 2": {
			{N: 70_000, Path: "1", Verb: "send_message", Key: "k", State: journal.StepDone, Attempts: 900, Error: `"quoted"`, Record: []byte(`{"answer":1}`)},
			{N: 70_001, Path: "2", Verb: "add_label", Key: "k1", State: journal.StepOpen, Attempts: 1, Record: []byte(`{"intent":1}`)},
		},
		"lane 3": {
			{N: 0, Path: "1", Verb: "send_message", Key: "k", State: journal.StepDone, Record: []byte(`{"answer":1}`)},
			{N: 1, Path: "2", Verb: "add_label", Key: "k1", State: journal.StepDone, Attempts: 1, Record: []byte(`{"answer":1}`)},
			{N: 2, Path: "3", Verb: "add_label", Key: "k2", State: journal.StepOpen, Attempts: 1, Record: []byte(`{"intent":1}`)},
		},
	}
	for _, l := range lanes {
		if len(l.Runs) != 1 || len(l.Events) != 0 {
			t.Errorf("%+v", l)
			continue
		}
		r := l.Runs[0]
		if diff := cmp.Diff(steps[l.Name], r.Steps); diff != "" || r.State != journal.Running || r.Home != l.Name || r.Rule != "greet" || r.StartedAt.IsZero() {
			t.Errorf("%+v\n%s", r, diff)
		}
		if l.Name == "lane 2" && (r.Reason != "\xff\x00 it is so" || len(r.Ancestry) != 2 || r.WakeAt.IsZero()) {
			t.Errorf("%+v", r)
		}
	}
	if got := findRun(t, j, 1); got.State != journal.Done {
		t.Errorf("%+v", got)
	}
	if _, next := beginRun(t, j, "fourth", "lane 4"); next.ID != 4 {
		t.Errorf("the next run has the number %d", next.ID)
	}
}

// unpacked returns a copy of a compressed file.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	file := filepath.Join(t.TempDir(), "quando.db")
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// FuzzDrafts: every row of drafts is read or refused.
func FuzzDrafts(f *testing.F) {
	f.Add([]byte{2, 14, 18, 2, 'k', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{2, 14, 18, 2, 'k'})
	f.Add([]byte{4})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		r := draftReader{bytes: bytes}
		for len(r.bytes) > 0 {
			before := len(r.bytes)
			if r.draft(); len(r.bytes) >= before {
				t.Fatal("nothing was read")
			}
		}
	})
}
