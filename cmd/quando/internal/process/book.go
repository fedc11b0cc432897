package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Book is the rules of one workspace, loaded from their files. It keeps the last good version of
// each rule, so that a mistake in one, or in the file around it, stops nothing that ran before.
type Book struct {
	Workspace string
	Path      string   // a folder or a file
	Except    []string // folders and files below it that are another workspace's
	Options   rules.Options
	Log       *slog.Logger
	Use       func(*rules.Set) // is given the rules whenever they may be others

	mu       sync.Mutex     // guards the fields below: saving a rule loads it at once
	Set      *rules.Set     // what is in use; nil before the first reading
	Problems rules.Problems // of the last reading
	files    int            // that were read
	content  sum            // what they held
	beside   map[string]sum // what other files held that the rules name, such as an .ics of holidays
	stamp    sum            // the times and sizes of all of them
	missing  bool           // there was no folder

	public atomic.Pointer[console.Book] // for pages
}

// errVanished says that a file with rules in use was not there. Editors and deployments take files
// away for a moment.
var errVanished = errors.New("a file with rules has vanished")

// A Reading is what the files said at one time.
type Reading struct {
	files    []*rules.File
	unread   []string // files that could not be read
	Problems rules.Problems
	Content  sum
	Missing  bool
}

// Load reads the files again and puts their rules to use, and reports whether anything was new. A
// patient load does not accept at once that a file is gone, and changes nothing; the caller retries
// a moment later.
func (b *Book) Load(patient, forced bool) (changed bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stamp := b.stampNow()
	r, err := b.Read()
	if err != nil {
		return false, err
	}
	if b.Set != nil && (r.Missing || (patient && b.vanished(r))) {
		if r.Missing && !patient && !b.missing {
			b.missing = true
			b.Log.Error("the rules have vanished; those that were there go on until they are back", "workspace", b.Workspace, "path", b.Path)
		}
		return false, errVanished
	}
	b.stamp = stamp // of before the reading: a change in between is seen the next time
	if b.Set != nil && !forced && !b.missing && r.Content == b.content && b.besideIsSame() {
		return false, nil
	}
	set, problems := b.Compile(r)
	before := b.Set
	b.content, b.missing = r.Content, r.Missing
	b.Problems, b.files = append(problems, r.Problems...).Sort(), len(r.files)
	b.Set = set.With(b.lastGood(set, r)...)
	b.Use(b.Set)
	b.logLoad(before)
	return true, nil
}

// shown returns the rules for pages. It is safe for concurrent use with Load.
func (b *Book) shown() console.Book {
	if now := b.public.Load(); now != nil {
		return *now
	}
	return console.Book{}
}

// Read reads the files. An unreadable one is a problem of its own.
func (b *Book) Read() (*Reading, error) {
	names, err := b.names()
	if errors.Is(err, fs.ErrNotExist) {
		return &Reading{Missing: true}, nil
	}
	if err != nil {
		return nil, cli.FileError(err)
	}
	r := &Reading{}
	var all bytes.Buffer
	for _, name := range names {
		text, err := cli.ReadBounded(name)
		if err != nil {
			r.unread = append(r.unread, name)
			r.Problems = append(r.Problems, rules.Problem{File: name, Line: 1, Column: 1, Severity: source.Error}.Saying(phrases.Sprintf("the file cannot be read: %v", err), nil))
			continue
		}
		fmt.Fprintf(&all, "%q %d\n%s", name, len(text), text)
		r.files = append(r.files, rules.Parse(name, text))
	}
	fmt.Fprintf(&all, "%q", r.unread)
	r.Content = sumOf(all.Bytes())
	return r, nil
}

// names lists the rule files.
func (b *Book) names() ([]string, error) {
	info, err := os.Stat(b.Path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{b.Path}, nil
	}
	return config.FilesBelow(b.Path, b.Except...)
}

// Compile compiles what was read, and notes what else the rules are made of.
func (b *Book) Compile(r *Reading) (*rules.Set, rules.Problems) {
	o := b.Options
	b.beside = make(map[string]sum)
	o.ReadFile = func(ruleFile, name string) ([]byte, error) {
		text, err := b.Options.ReadFile(ruleFile, name)
		b.beside[filepath.Join(filepath.Dir(ruleFile), name)] = sumOf(text)
		return text, err
	}
	return rules.Compile(r.files, o)
}

// besideIsSame reports whether the other files that the rules name hold what they held.
func (b *Book) besideIsSame() bool {
	for name, was := range b.beside {
		// An unreadable file counts as empty.
		if text, _ := cli.ReadBounded(name); sumOf(text) != was {
			return false
		}
	}
	return true
}

// vanished reports whether a file is missing that has rules in use.
func (b *Book) vanished(r *Reading) bool {
	return slices.ContainsFunc(b.Set.Rules, func(rule *rules.Rule) bool {
		return !slices.ContainsFunc(r.files, func(f *rules.File) bool { return f.Name == rule.File })
	})
}

// lastGood returns the rules in use that the files still contain, but broken: those whose own text
// is wrong, and those of a file that cannot be read as a whole.
func (b *Book) lastGood(set *rules.Set, r *Reading) []*rules.Rule {
	if b.Set == nil {
		return nil
	}
	spoilt := make(map[string]bool) // files
	for _, name := range r.unread {
		spoilt[name] = true
	}
	for _, f := range r.files {
		if f.Problems.HasErrors() {
			spoilt[f.Name] = true
		}
	}
	var kept []*rules.Rule
	for _, rule := range b.Set.Rules {
		if set.Rule(rule.ID) == nil && (spoilt[rule.File] || b.broken(set, rule.ID)) {
			kept = append(kept, rule)
		}
	}
	return kept
}

func (b *Book) broken(set *rules.Set, id string) bool {
	return slices.ContainsFunc(set.Broken, func(r rules.Broken) bool { return r.ID == id })
}

// logLoad logs a load, and each problem.
func (b *Book) logLoad(before *rules.Set) {
	for _, p := range b.Problems {
		level := slog.LevelWarn
		if p.Severity == source.Error {
			level = slog.LevelError
		}
		b.Log.Log(context.Background(), level, "problem in the rules", "workspace", b.Workspace, "at", fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column), "rule", p.Rule, "problem", p.Message, "hint", p.Hint)
	}
	args := []any{"workspace", b.Workspace, "rules", len(b.Set.Rules), "files", b.files}
	if ids := b.brokenIDs(); len(ids) > 0 {
		args = append(args, "broken", strings.Join(ids, " "))
	}
	if len(b.Set.Rules)+len(b.Set.Broken) == 0 {
		b.Log.Warn("there are no rules", "workspace", b.Workspace, "path", b.Path)
	}
	if before == nil {
		b.Log.Info("rules loaded", args...)
		return
	}
	added, changed, removed := compareSets(before, b.Set)
	for _, list := range []struct {
		name string
		ids  []string
	}{{"added", added}, {"changed", changed}, {"removed", removed}} {
		if len(list.ids) > 0 {
			args = append(args, list.name, strings.Join(list.ids, " "))
		}
	}
	b.Log.Info("rules reloaded", args...)
}

// brokenIDs names what is not loaded as written: a rule by its id or, if it has none, by its
// position.
func (b *Book) brokenIDs() []string {
	var ids []string
	for _, r := range b.Set.Broken {
		if r.ID != "" {
			ids = append(ids, r.ID)
		} else {
			ids = append(ids, fmt.Sprintf("%s:%d", filepath.Base(r.File), r.Line))
		}
	}
	return ids
}

// compareSets names the rules that differ.
func compareSets(before, after *rules.Set) (added, changed, removed []string) {
	for _, r := range after.Rules {
		switch old := before.Rule(r.ID); {
		case old == nil:
			added = append(added, r.ID)
		case old.Version != r.Version:
			changed = append(changed, r.ID)
		}
	}
	for _, r := range before.Rules {
		if after.Rule(r.ID) == nil {
			removed = append(removed, r.ID)
		}
	}
	return added, changed, removed
}

// stale reports whether something has another time or size than when it was read.
func (b *Book) stale() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stampNow() != b.stamp
}

// stampNow sums up the names, times and sizes of everything that the rules are made of.
func (b *Book) stampNow() sum {
	var text strings.Builder
	names, err := b.names()
	fmt.Fprintln(&text, err)
	for _, name := range slices.Concat(names, slices.Sorted(maps.Keys(b.beside))) {
		if info, err := os.Stat(name); err != nil {
			fmt.Fprintf(&text, "%q %v\n", name, err)
		} else {
			fmt.Fprintf(&text, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return sumOf([]byte(text.String()))
}

// A sum is a content hash, to detect changes.
type sum [sha256.Size]byte

func sumOf(content []byte) sum { return sha256.Sum256(content) }
