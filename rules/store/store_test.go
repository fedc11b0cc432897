package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/source"
)

var ana = Change{Who: "ana", What: "live", Why: "customers asked"}

// newStore returns a store of a folder whose clock advances a minute with every read.
func newStore(t *testing.T) (*Store, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "rules")
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	return New(Options{Path: folder, Now: func() time.Time { now = now.Add(time.Minute); return now }}), folder
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *Store) mustSave(t *testing.T, name, text string) Version {
	t.Helper()
	was := ""
	if f, err := s.Read(name); err == nil {
		was = f.Sum
	}
	v, err := s.Save(name, text, was, ana)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestHistory shows the authors of changes, also of changes by other means, and that nothing is
// lost on the way back.
func TestHistory(t *testing.T) {
	s, folder := newStore(t)
	s.mustSave(t, "teams/away.yaml", "one\n")
	s.mustSave(t, "teams/away.yaml", "two\n")
	write(t, filepath.Join(folder, "teams/away.yaml"), "by hand\n", 0o640)
	s.mustSave(t, "teams/away.yaml", "three\n")
	s.mustSave(t, "teams/away.yaml", "three\n") // which changes nothing
	versions, err := s.Versions("teams/away.yaml", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		N         int
		Text, Who string
		Found     bool
	}
	var got []line
	for _, v := range versions {
		got = append(got, line{v.N, v.Text, v.Who, v.Found()})
	}
	want := []line{{4, "three\n", "ana", false}, {3, "by hand\n", "", true}, {2, "two\n", "ana", false}, {1, "one\n", "ana", false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !versions[0].At.After(versions[2].At) || versions[0].Why != "customers asked" {
		t.Errorf("%+v", versions[0])
	}
	first, err := s.Version("teams/away.yaml", 1)
	if err != nil {
		t.Fatal(err)
	}
	s.mustSave(t, "teams/away.yaml", first.Text)
	if got := read(t, filepath.Join(folder, "teams/away.yaml")); got != "one\n" {
		t.Errorf("the way back leads to %q", got)
	}
	if few, err := s.Versions("teams/away.yaml", 0, 2); err != nil || len(few) != 2 || few[0].N != 5 {
		t.Errorf("%v %v", few, err)
	}
	if older, err := s.Versions("teams/away.yaml", 3, 10); err != nil || len(older) != 2 || older[0].N != 2 {
		t.Errorf("%v %v", older, err)
	}
	if info, err := os.Stat(filepath.Join(folder, "teams/away.yaml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	if _, err := s.Version("teams/away.yaml", 99); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a version that there is not: %v", err)
	}
}

// TestRefused shows what is not saved: what another has changed meanwhile, what is too large,
// anything where nothing may be changed.
func TestRefused(t *testing.T) {
	s, folder := newStore(t)
	s.mustSave(t, "away.yaml", "one\n")
	opened, err := s.Read("away.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.mustSave(t, "away.yaml", "two\n")
	for name, tt := range map[string]struct {
		file, text, was string
		want            error
	}{
		"changed meanwhile":           {"away.yaml", "mine\n", opened.Sum, ErrChanged},
		"made meanwhile":              {"away.yaml", "mine\n", "", ErrChanged},
		"taken away meanwhile":        {"gone.yaml", "mine\n", opened.Sum, ErrChanged},
		"too large":                   {"large.yaml", strings.Repeat("#", source.MaxBytes+1), "", ErrLarge},
		"too large for what is there": {"away.yaml", strings.Repeat("#", source.MaxBytes+1), sumOf([]byte("two\n")), ErrLarge},
	} {
		if _, err := s.Save(tt.file, tt.text, tt.was, ana); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fixed := New(Options{Path: folder, ReadOnly: true})
	if _, err := fixed.Save("away.yaml", "mine\n", sumOf([]byte("two\n")), ana); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	if err := fixed.Keep("away.yaml", "mine\n", "", "ana"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	if got := read(t, filepath.Join(folder, "away.yaml")); got != "two\n" {
		t.Errorf("the file holds %q", got)
	}
	if versions, err := s.Versions("away.yaml", 0, 10); err != nil || len(versions) != 2 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
}

// TestNames shows that no name reaches out of the folder, or to where the loader does not look.
func TestNames(t *testing.T) {
	s, folder := newStore(t)
	s.options.Except = []string{filepath.Join(folder, "acme")}
	secret := filepath.Join(filepath.Dir(folder), "secret.yaml")
	write(t, secret, "secret\n", 0o600)
	write(t, filepath.Join(folder, "here.yaml"), "here\n", 0o600)
	for link, to := range map[string]string{"out.yaml": "../secret.yaml", "absolute.yaml": secret, "in.yaml": "here.yaml", "round.yaml": "round.yaml", "folder": ".."} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "../secret.yaml", "x/../../secret.yaml", "/etc/passwd.yaml", secret, "a/../b.yaml", "./a.yaml", "a//b.yaml", ".history/here.yaml/000001.yaml", ".hidden.yaml", "media/a.yaml", "node_modules/a.yaml",
		"quando.yaml", "sub/profile.yaml", "a.txt", "a", "a.yaml/", "a\x00.yaml", "a\n.yaml", `..\secret.yaml`, "c:a.yaml", "acme/rules.yaml", strings.Repeat("a", 300) + ".yaml",
		"out.yaml", "absolute.yaml", "round.yaml", "folder/secret.yaml",
	} {
		if _, err := s.Read(name); err == nil {
			t.Errorf("%q was read", name)
		}
		if _, err := s.Save(name, "mine\n", sumOf([]byte("secret\n")), ana); err == nil {
			t.Errorf("%q was saved", name)
		}
		if _, err := s.Save(name, "mine\n", "", ana); err == nil {
			t.Errorf("%q was made", name)
		}
		if err := s.Keep(name, "mine\n", "", "ana"); err == nil && s.check(name) != nil {
			t.Errorf("%q was kept", name)
		}
	}
	if got := read(t, secret); got != "secret\n" {
		t.Errorf("the secret is %q", got)
	}
	s.mustSave(t, "in.yaml", "through a link\n")
	if got := read(t, filepath.Join(folder, "here.yaml")); got != "through a link\n" {
		t.Errorf("what the link leads to holds %q", got)
	}
	if info, err := os.Lstat(filepath.Join(folder, "in.yaml")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v", err)
	}
	if name, err := s.Name(filepath.Join(folder, "sub", "a.yaml")); err != nil || name != "sub/a.yaml" || s.Path(name) != filepath.Join(folder, "sub", "a.yaml") {
		t.Errorf("%q %v", name, err)
	}
	if _, err := s.Name(secret); err == nil {
		t.Error("a file from elsewhere has a name")
	}
}

// TestNothingHalf shows that a failed save leaves the file and the history unchanged, and that of
// two concurrent saves one fails.
func TestNothingHalf(t *testing.T) {
	s, folder := newStore(t)
	s.mustSave(t, "away.yaml", "one\n")
	one := sumOf([]byte("one\n"))
	blocked := filepath.Join(folder, ".away.yaml.saving", "x")
	write(t, blocked, "", 0o600) // blocks the file
	if _, err := s.Save("away.yaml", "two\n", one, ana); err == nil {
		t.Fatal("it was saved although it cannot be")
	}
	if versions, _ := s.Versions("away.yaml", 0, 10); len(versions) != 1 || read(t, filepath.Join(folder, "away.yaml")) != "one\n" {
		t.Errorf("%d versions", len(versions))
	}
	if err := os.RemoveAll(filepath.Dir(blocked)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, ".away.yaml.saving"), "what a crash left behind", 0o600)
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range 8 {
		group.Go(func() {
			_, err := s.Save("away.yaml", "by "+strconv.Itoa(i), one, ana)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done++
			} else if !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	versions, _ := s.Versions("away.yaml", 0, 10)
	if done != 1 || len(versions) != 2 || versions[0].Text != read(t, filepath.Join(folder, "away.yaml")) {
		t.Errorf("%d saves, %d versions", done, len(versions))
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*.saving")); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestUnfinished shows that a text can wait beside a file that stays as it is.
func TestUnfinished(t *testing.T) {
	s, folder := newStore(t)
	if kept, err := s.Kept("away.yaml"); kept != nil || err != nil {
		t.Errorf("%v %v", kept, err)
	}
	s.mustSave(t, "away.yaml", "one\n")
	for _, text := range []string{"half", "more than half"} {
		if err := s.Keep("away.yaml", text, "sum", "ana"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Keep("teams/other.yaml", "x", "", "bruno"); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Kept("away.yaml")
	if err != nil || kept.Text != "more than half" || kept.Who != "ana" || kept.Was != "sum" || kept.At.IsZero() || read(t, filepath.Join(folder, "away.yaml")) != "one\n" {
		t.Errorf("%+v %v", kept, err)
	}
	if names, err := s.AllKept(); err != nil || !cmp.Equal(names, []string{"away.yaml", "teams/other.yaml"}) {
		t.Errorf("%v %v", names, err)
	}
	if err := errors.Join(s.Drop("away.yaml"), s.Drop("away.yaml")); err != nil {
		t.Error(err)
	}
	if kept, err := s.Kept("away.yaml"); kept != nil || err != nil {
		t.Errorf("%v %v", kept, err)
	}
}

// TestSingle shows that where the rules are one file there can be no other.
func TestSingle(t *testing.T) {
	folder := t.TempDir()
	s := New(Options{Path: filepath.Join(folder, "rules.yaml")})
	s.mustSave(t, "rules.yaml", "one\n")
	if _, err := s.Save("other.yaml", "x", "", ana); !errors.Is(err, ErrName) || !s.Single() {
		t.Errorf("another file: %v", err)
	}
	if versions, err := s.Versions("rules.yaml", 0, 10); err != nil || len(versions) != 1 {
		t.Errorf("%v %v", versions, err)
	}
}
