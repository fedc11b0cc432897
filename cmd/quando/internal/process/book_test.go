package process

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
)

// testBook is a book under test with what it was used for.
type testBook struct {
	*Book
	t      *testing.T
	folder string
	log    *clitest.Buffer
	mu     sync.Mutex
	set    *rules.Set
}

func newShelf(t *testing.T, path string) *testBook {
	t.Helper()
	s := &testBook{t: t, folder: t.TempDir(), log: &clitest.Buffer{}}
	s.Book = &Book{
		Workspace: "default", Path: filepath.Join(s.folder, path), Options: rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside},
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Use: func(set *rules.Set) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.set = set
		},
	}
	return s
}

// write writes a file, and the folder that it is in.
func (s *testBook) write(name, text string) {
	s.t.Helper()
	clitest.WriteFile(s.t, filepath.Join(s.folder, name), text)
}

func (s *testBook) remove(name string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.folder, name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testBook) rename(from, to string) {
	s.t.Helper()
	if err := os.Rename(filepath.Join(s.folder, from), filepath.Join(s.folder, to)); err != nil {
		s.t.Fatal(err)
	}
}

// rules describes the rules in use: their ids and what they log.
func (s *testBook) rules() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		return "(not loaded)"
	}
	var out []string
	for _, r := range s.set.Rules {
		out = append(out, r.ID+"="+r.Name)
	}
	return strings.Join(out, " ")
}

func (s *testBook) loads(want string) {
	s.t.Helper()
	if _, err := s.Load(false, false); err != nil {
		s.t.Fatal(err)
	}
	if got := s.rules(); got != want {
		s.t.Errorf("in use: %s\nwant:   %s\n%s", got, want, s.log)
	}
}

// TestBookKeepsTheLastGoodVersion shows that a mistake stops nothing that ran before.
func TestBookKeepsTheLastGoodVersion(t *testing.T) {
	broken := "  - { id: a, when: nonsense, do: [{ log: a2 }] }\n"
	tests := []struct{ name, text, want string }{
		{"a rule that is wrong", "rules:\n" + broken + clitest.Rule("b", "b2"), "a=a1 b=b2 c=c1"},
		{"a file that is no YAML", "rules: [\n" + clitest.Rule("b", "b2"), "a=a1 b=b1 c=c1"},
		{"a file that was cut off", "rules:\n  - { id: a, when: attendance.opened, do: [{ log", "a=a1 b=b1 c=c1"},
		{"a wrong key around the rules", "rulse:\n" + clitest.Rule("b", "b2"), "a=a1 b=b1 c=c1"},
		{"a rule that is removed", "rules:\n" + clitest.Rule("b", "b2"), "b=b2 c=c1"},
		{"an empty file", "", "c=c1"},
		{"two of one id", "rules:\n" + clitest.Rule("a", "a2") + clitest.Rule("c", "c2"), "a=a2 c=c1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t, "rules")
			s.write("rules/z.yaml", "rules:\n"+clitest.Rule("a", "a1")+clitest.Rule("b", "b1"))
			s.write("rules/c.yaml", "rules:\n"+clitest.Rule("c", "c1"))
			s.loads("a=a1 b=b1 c=c1")
			s.write("rules/z.yaml", tt.text)
			s.loads(tt.want)
			s.write("rules/z.yaml", "rules:\n"+clitest.Rule("a", "a3"))
			s.loads("a=a3 c=c1")
		})
	}
}

// TestBookTells shows that one log line says what a reload has changed, and that problems are
// logged with their position.
func TestBookTells(t *testing.T) {
	s := newShelf(t, "rules")
	s.write("rules/r.yaml", "rules:\n"+clitest.Rule("a", "a1")+clitest.Rule("b", "b1")+clitest.Rule("c", "c1"))
	s.loads("a=a1 b=b1 c=c1")
	s.write("rules/r.yaml", "rules:\n  - { id: a, when: nonsense, do: [{ log: x }] }\n"+clitest.Rule("b", "b2")+clitest.Rule("d", "d1"))
	s.loads("a=a1 b=b2 d=d1")
	log := s.log.String()
	for _, want := range []string{
		`msg="rules loaded" workspace=default rules=3 files=1`,
		`msg="rules reloaded" workspace=default rules=3 files=1 broken=a added=d changed=b removed=c`,
		"r.yaml:2:20 rule=a", "nonsense",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
	if set := s.set; len(set.Broken) != 1 || set.Broken[0].ID != "a" {
		t.Errorf("%+v", set.Broken)
	}
}

// TestBookPatience shows that a file that is away for a moment is not believed to be gone, and one
// that stays away is.
func TestBookPatience(t *testing.T) {
	s := newShelf(t, "rules")
	s.write("rules/a.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	s.write("rules/b.yaml", "rules:\n"+clitest.Rule("b", "b1"))
	s.loads("a=a1 b=b1")
	s.remove("rules/a.yaml")
	if _, err := s.Load(true, false); !errors.Is(err, errVanished) || s.rules() != "a=a1 b=b1" {
		t.Errorf("%v %s", err, s.rules())
	}
	s.loads("b=b1")

	// A missing folder does not mean that its rules are removed.
	s.rename("rules", "away")
	for range 2 {
		if _, err := s.Load(false, false); !errors.Is(err, errVanished) || s.rules() != "b=b1" {
			t.Errorf("%v %s", err, s.rules())
		}
	}
	if n := strings.Count(s.log.String(), "have vanished"); n != 1 {
		t.Errorf("told %d times\n%s", n, s.log)
	}
	s.rename("away", "rules")
	s.write("rules/b.yaml", "rules:\n"+clitest.Rule("b", "b2"))
	s.loads("b=b2")
}

// TestBookSeesWhatHasChanged shows what is read anew, and that nothing is where nothing has
// changed.
func TestBookSeesWhatHasChanged(t *testing.T) {
	s := newShelf(t, "rules")
	calendar := "calendars:\n  office: { timezone: UTC, open: { mon-fri: [08:00-18:00] }, holidays: [days.ics] }\n"
	s.write("rules/r.yaml", calendar+"rules:\n  - { id: a, name: a1, when: attendance.opened, if: 'open(\"office\")', do: [{ log: x }] }\n")
	day := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261225\r\nSUMMARY:Day\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	s.loads("") // the .ics is missing
	s.write("rules/days.ics", day)
	s.loads("a=a1")
	again := func() bool {
		t.Helper()
		changed, err := s.Load(true, false)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	for range 2 {
		if again() {
			t.Error("nothing has changed")
		}
	}
	if s.stale() {
		t.Error("what was looked at is looked at for ever")
	}
	before := s.set.Rule("a").Version
	s.write("rules/days.ics", strings.Replace(day, "1225", "1224", 1))
	if !s.stale() || !again() || s.set.Rule("a").Version == before {
		t.Error("the change of a file that a rule names is not seen")
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(s.Path, "r.yaml"), later, later); err != nil {
		t.Fatal(err)
	}
	if !s.stale() || again() || s.stale() {
		t.Error("a file that was only touched is loaded, or looked at for ever")
	}
	if changed, err := s.Load(true, true); !changed || err != nil {
		t.Errorf("what is asked for is not done: %v", err)
	}
}

// TestBookOfOneFile shows that a single file will do, and that what belongs to another workspace is
// left to it.
func TestBookOfOneFile(t *testing.T) {
	s := newShelf(t, "rules.yaml")
	s.loads("")
	if !strings.Contains(s.log.String(), "there are no rules") {
		t.Error(s.log)
	}
	s.write("rules.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	s.loads("a=a1")

	s = newShelf(t, "rules")
	s.write("rules/a.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	s.write("rules/acme/b.yaml", "rules:\n"+clitest.Rule("b", "b1"))
	s.write("rules/other/c.yaml", "rules:\n"+clitest.Rule("c", "c1"))
	s.Except = []string{filepath.Join(s.folder, "rules", "acme")}
	s.loads("a=a1 c=c1")
}

// TestBookThroughALink shows that the folder may be a link.
func TestBookThroughALink(t *testing.T) {
	s := newShelf(t, "rules")
	s.write("releases/1/a.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	if err := os.Symlink(filepath.Join("releases", "1"), s.Path); err != nil {
		t.Fatal(err)
	}
	s.loads("a=a1")
}
