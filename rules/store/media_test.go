package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/rules/store"
)

// TestSaveMedia shows that a file that rules send comes into the folder beside the rules, that one
// that is there stays as it is, and that no name leads elsewhere.
func TestSaveMedia(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "rules")
	s := store.New(store.Options{Path: folder})
	if err := s.SaveMedia("tabela de preços.pdf", []byte("prices")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "media", "tabela de preços.pdf")
	if got, err := os.ReadFile(file); string(got) != "prices" {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.SaveMedia("tabela de preços.pdf", []byte("prices")); err != nil {
		t.Errorf("the same file again: %v", err)
	}
	if err := s.SaveMedia("tabela de preços.pdf", []byte("others")); !errors.Is(err, store.ErrTaken) {
		t.Errorf("another file of the name: %v", err)
	}
	for _, name := range []string{"", ".hidden", "..", "../x.pdf", "a/b.pdf", `a\b.pdf`, "a\n.pdf"} {
		if err := s.SaveMedia(name, []byte("x")); !errors.Is(err, store.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got, _ := os.ReadFile(file); string(got) != "prices" {
		t.Errorf("the file became %q", got)
	}
	if err := store.New(store.Options{Path: folder, ReadOnly: true}).SaveMedia("x.pdf", nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("where nothing may be changed: %v", err)
	}
}
