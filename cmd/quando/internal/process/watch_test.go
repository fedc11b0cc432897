package process

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// watched starts to watch a loaded book, looking at the times of files only now and then, and
// returns a function that waits until certain rules are in use.
func watched(t *testing.T, s *testBook, every time.Duration, busy ...string) (becomes func(want string)) {
	t.Helper()
	if _, err := s.Load(false, false); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	w := &watch{books: []*Book{s.Book}, log: s.Log, every: every, busy: strings.Join(busy, "")}
	go func() {
		defer close(done)
		w.run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return func(want string) {
		t.Helper()
		clitest.Eventually(t, func() (bool, string) {
			return s.rules() == want, "in use: " + s.rules() + "\nwant:   " + want + "\n" + s.log.String()
		})
	}
}

// TestWatch changes rules in the ways in which editors and deployments do.
func TestWatch(t *testing.T) {
	one := func(name string) string { return "rules:\n" + clitest.Rule("a", name) }
	link := func(t *testing.T, s *testBook, to, name string) {
		t.Helper()
		name = filepath.Join(s.folder, name)
		if err := os.Symlink(to, name+"_tmp"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+"_tmp", name); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, s *testBook)
		change  func(t *testing.T, s *testBook, version string)
	}{
		{"written in place", nil, func(_ *testing.T, s *testBook, v string) { s.write("rules/a.yaml", one(v)) }},
		{"put in its place", nil, func(_ *testing.T, s *testBook, v string) {
			s.write("rules/.a.yaml.swp", one(v))
			s.rename("rules/.a.yaml.swp", "rules/a.yaml")
		}},
		{"the old one put aside", nil, func(_ *testing.T, s *testBook, v string) {
			s.rename("rules/a.yaml", "rules/a.yaml~")
			s.write("rules/a.yaml", one(v))
		}},
		{"in a folder that is new", nil, func(_ *testing.T, s *testBook, v string) {
			s.remove("rules/a.yaml")
			s.remove("rules/deep")
			s.write("rules/deep/er/a.yaml", one(v))
		}},
		{"the folder replaced", nil, func(_ *testing.T, s *testBook, v string) {
			s.write("new/a.yaml", one(v))
			s.rename("rules", "old")
			s.rename("new", "rules")
			s.remove("old")
		}},
		{"a link to another release", func(t *testing.T, s *testBook) {
			s.write("releases/v0/a.yaml", one("v0"))
			s.remove("rules")
			link(t, s, "releases/v0", "rules")
		}, func(t *testing.T, s *testBook, v string) {
			s.write("releases/"+v+"/a.yaml", one(v))
			link(t, s, "releases/"+v, "rules")
		}},
		{"a config map", func(t *testing.T, s *testBook) {
			s.write("rules/..v0/a.yaml", one("v0"))
			link(t, s, "..v0", "rules/..data")
			s.remove("rules/a.yaml")
			link(t, s, "..data/a.yaml", "rules/a.yaml")
		}, func(t *testing.T, s *testBook, v string) {
			s.write("rules/.."+v+"/a.yaml", one(v))
			link(t, s, ".."+v, "rules/..data")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t, "rules")
			s.write("rules/a.yaml", one("v0"))
			if tt.prepare != nil {
				tt.prepare(t, s)
			}
			becomes := watched(t, s, time.Hour)
			becomes("a=v0")
			for _, v := range []string{"v1", "v2", "v3"} {
				tt.change(t, s, v)
				becomes("a=" + v)
			}
		})
	}
}

// TestWatchRemoved shows that a rule whose file is removed goes, and one whose whole folder is does
// not.
func TestWatchRemoved(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "rules")
	s.write("rules/a.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	s.write("rules/b.yaml", "rules:\n"+clitest.Rule("b", "b1"))
	becomes := watched(t, s, 0)
	s.remove("rules/b.yaml")
	becomes("a=a1")
	s.remove("rules")
	clitest.Eventually(t, func() (bool, string) { return s.log.Contains("have vanished"), s.log.String() })
	becomes("a=a1")
	s.write("rules/a.yaml", "rules:\n"+clitest.Rule("a", "a2"))
	becomes("a=a2")
}

// TestWatchWithoutBeingTold shows that polling finds a change that the system does not report.
func TestWatchWithoutBeingTold(t *testing.T) {
	s := newShelf(t, "rules")
	s.write("elsewhere/a.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	s.write("rules/b.yaml", "rules:\n"+clitest.Rule("b", "b1"))
	if err := os.Symlink(filepath.Join(s.folder, "elsewhere", "a.yaml"), filepath.Join(s.Path, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	becomes := watched(t, s, 10*time.Millisecond)
	becomes("a=a1 b=b1")
	s.write("elsewhere/a.yaml", "rules:\n"+clitest.Rule("a", "another"))
	becomes("a=another b=b1")
}

// TestWatchConcerns shows that what is written beside the rules, such as the journal, does not make
// them be read all the time.
func TestWatchConcerns(t *testing.T) {
	w := &watch{books: []*Book{{Path: "/desk/rules"}, {Path: "/desk/one.yaml"}, {Path: "/flat"}}}
	for name, want := range map[string]bool{
		"/desk/rules": true, "/desk/rules/a.yaml": true, "/desk/rules/deep": true, "/desk/rules/..data": true, "/desk/rules/days.ics": true, "/desk/one.yaml": true,
		"/desk/..data": true, "/flat/a.yml": true,
		"/desk/quando.db": false, "/desk/quando.db-wal": false, "/desk/other.yaml": false, "/desk/rules/.a.yaml.swp": false, "/desk/rules/a.yaml~": false,
		"/flat/quando.db-wal": false, "/flat/media": false,
	} {
		if got := w.concerns(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWatchBusyFolder shows that the journal's folder is not watched, and that polling finds
// changed rules in it.
func TestWatchBusyFolder(t *testing.T) {
	for _, path := range []string{"rules", "rules.yaml"} {
		s := newShelf(t, path)
		file := "rules/a.yaml"
		if path != "rules" {
			file = path
		}
		s.write(file, "rules:\n"+clitest.Rule("a", "a1"))
		becomes := watched(t, s, 10*time.Millisecond, s.folder)
		becomes("a=a1")
		s.write(file, "rules:\n"+clitest.Rule("a", "another"))
		becomes("a=another")
		w := &watch{books: []*Book{s.Book}, log: s.Log, busy: s.folder, changed: make(chan struct{}, 1)}
		w.watchFolders()
		if list := w.notify.WatchList(); slices.Contains(list, s.folder) {
			t.Errorf("%s: the system is asked about %s", path, list)
		}
		w.closeWatcher()
	}
}
