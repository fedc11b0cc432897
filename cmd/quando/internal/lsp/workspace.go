package lsp

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/source"
)

// A space is a workspace as it was found for a file, with the names of its desk.
type space struct {
	Workspace
	found time.Time

	loading sync.Once
	mu      sync.Mutex
	choices []editor.Choice
	media   []string
}

// maxNames bounds how long the names of a desk are asked for.
const maxNames = 10 * time.Second

// names returns the names that are known by now, and begins to read them.
func (p *space) names() (choices []editor.Choice, media []string) {
	p.loading.Do(func() {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), maxNames)
			defer cancel()
			choices, media := p.Names(ctx)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.choices, p.media = choices, media
		}()
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.choices, p.media
}

// A view is the open documents at one moment.
type view struct {
	*Server
	docs map[string]*document // by URI; it is not changed any more
}

// snapshot returns the documents as they are now. The caller holds the lock.
func (s *Server) snapshot() *view { return &view{s, maps.Clone(s.docs)} }

// spaceOf returns the workspace of a file; nil where it cannot be found out. What is wrong with its
// configuration is shown once.
func (s *Server) spaceOf(file string) *space {
	s.mu.Lock()
	known := s.spaces[file]
	s.mu.Unlock()
	if known != nil {
		return known
	}
	w, err := s.desk.Workspace(file)
	if err != nil {
		s.mu.Lock()
		told := s.told == err.Error()
		s.told = err.Error()
		s.mu.Unlock()
		if !told {
			s.show(messageWarning, err.Error())
		}
	}
	if w == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.spaces {
		if other.Key() == w.Key() && time.Since(other.found) < time.Second {
			s.spaces[file] = other
			return other
		}
	}
	found := &space{Workspace: w, found: time.Now()}
	for _, before := range s.before {
		if before.Key() == w.Key() { // its names count until they have been read again
			found.choices, found.media = before.names()
			break
		}
	}
	s.spaces[file] = found
	found.names()
	return found
}

// forgetSpaces lets workspaces be found anew: a file may have come, or a configuration changed.
func (s *Server) forgetSpaces() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spaces) > 0 {
		s.before, s.spaces = s.spaces, make(map[string]*space)
	}
}

// document returns an open document.
func (v *view) document(uri string) (*document, error) {
	if d := v.docs[uri]; d != nil {
		return d, nil
	}
	return nil, &rpcError{invalidParams, "the document is not open: " + uri}
}

// open returns the open document of a file, or nil.
func (v *view) open(file string) *document {
	for _, d := range v.docs {
		if d.file == file {
			return d
		}
	}
	return nil
}

// workspaceFiles parses the files of a workspace and some documents, with what is open in place of
// what is on the disk.
func (v *view) workspaceFiles(p *space, docs ...*document) (files []*rules.File) {
	names := slices.Clone(p.Files())
	for _, d := range docs {
		names = append(names, d.file)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if f := v.files.parse(v, name); f != nil {
			files = append(files, f)
		}
	}
	return files
}

// A fileCache keeps what was parsed: while one types in a file, the others are not read again.
type fileCache struct {
	mu    sync.Mutex
	files map[string]*cachedFile
}

type cachedFile struct {
	text     string
	size     int64
	modified time.Time

	parsing sync.Once
	parsed  *rules.File
	looking sync.Once
	symbols []editor.Symbol
}

// parse returns a file as it is open or on the disk; nil where it is neither.
func (c *fileCache) parse(v *view, name string) *rules.File {
	one := c.get(v, name)
	if one == nil {
		return nil
	}
	one.parsing.Do(func() { one.parsed = rules.Parse(name, []byte(one.text)) })
	return one.parsed
}

// symbolsOf returns the symbols of a file, and its text. Of a text that is no YAML just now there
// are none.
func (c *fileCache) symbolsOf(v *view, name string) ([]editor.Symbol, string) {
	one := c.get(v, name)
	if one == nil {
		return nil, ""
	}
	one.looking.Do(func() { one.symbols, _ = v.bareCompleter().Symbols(name, one.text) })
	return one.symbols, one.text
}

// get returns a file with its text.
func (c *fileCache) get(v *view, name string) *cachedFile {
	if d := v.open(name); d != nil {
		return c.keep(name, func(old *cachedFile) *cachedFile {
			if old != nil && old.text == d.text {
				return old
			}
			return &cachedFile{text: d.text}
		})
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() > source.MaxBytes+4 {
		return nil
	}
	return c.keep(name, func(old *cachedFile) *cachedFile {
		if old != nil && old.size == info.Size() && old.modified.Equal(info.ModTime()) {
			return old
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		return &cachedFile{text: string(text), size: info.Size(), modified: info.ModTime()}
	})
}

// keep replaces what is kept of a file.
func (c *fileCache) keep(name string, by func(old *cachedFile) *cachedFile) *cachedFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = make(map[string]*cachedFile)
	}
	now := by(c.files[name])
	c.files[name] = now
	return now
}

// bareCompleter knows the language, and no names.
func (s *Server) bareCompleter() *editor.Completer {
	return (&editor.Names{Catalogue: s.catalogue}).Completer()
}

// completer returns what there is to write at a line of a document.
func (v *view) completer(d *document, line int) *editor.Completer {
	n := &editor.Names{Catalogue: v.catalogue}
	p := v.spaceOf(d.file)
	if p != nil {
		n.Choices, n.Media = p.names()
		for _, name := range p.Files() {
			if name != d.file {
				symbols, _ := v.files.symbolsOf(v, name)
				addShared(n, symbols)
			}
		}
	}
	own := v.checker.lastSymbols(v, d)
	addShared(n, own)
	rule := -1
	for _, s := range own {
		if s.Kind == editor.RuleSymbol && s.Definition && s.Line <= line {
			rule = s.Rule
		}
	}
	for _, s := range own {
		fact := form.Fact{Name: s.Name, Type: "anything", Summary: s.Value}
		switch {
		case !s.Definition:
		case s.Kind == editor.VarSymbol:
			n.Vars = append(n.Vars, fact)
		case s.Kind == editor.ResultSymbol && s.Rule == rule:
			n.Results = append(n.Results, fact)
		}
	}
	return n.Completer()
}

// addShared adds the names that count in every file of a workspace.
func addShared(n *editor.Names, symbols []editor.Symbol) {
	for _, s := range symbols {
		switch {
		case !s.Definition:
		case s.Kind == editor.CalendarSymbol && !slices.Contains(n.Calendars, s.Name):
			n.Calendars = append(n.Calendars, s.Name)
		case s.Kind == editor.RuleSymbol && !slices.Contains(n.Rules, s.Name):
			n.Rules = append(n.Rules, s.Name)
		}
	}
}
