package lsp

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/store"
)

// A checker looks for the problems of the open documents, one at a time: first only in the part
// that is being typed, such as a rule, which takes the same time in a file of any size, then in the
// whole workspace. A change ends what is under way, so that nothing queues up behind a key.
type checker struct {
	server *Server
	wake   chan struct{}

	mu      sync.Mutex
	dirty   map[string]bool // documents that have changed, by URI
	stale   bool            // the workspaces have not been checked since
	cancel  context.CancelFunc
	checked map[string]editor.Checked  // what was told last, by URI
	symbols map[string][]editor.Symbol // of the last text that could be read, by URI

	telling sync.Mutex    // makes a document's problems and its end come in order
	took    time.Duration // the last check of everything
	untold  bool          // something was typed whose problems only a check of everything finds
}

func newChecker(s *Server) *checker {
	return &checker{
		server: s, wake: make(chan struct{}, 1), dirty: make(map[string]bool), cancel: func() {},
		checked: make(map[string]editor.Checked), symbols: make(map[string][]editor.Symbol),
	}
}

// changed asks for a check: of a document that has changed, or because of something else.
func (c *checker) changed(uris ...string) {
	c.mu.Lock()
	for _, uri := range uris {
		c.dirty[uri] = true
	}
	c.stale = true
	c.cancel()
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // it will look
	}
}

// forget drops what is known of a document that was closed.
func (c *checker) forget(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dirty, uri)
	delete(c.checked, uri)
	delete(c.symbols, uri)
}

// A check of everything that takes longer than brief waits until nothing was typed for pause, where
// the problems of what was typed have been told already.
const (
	brief = 40 * time.Millisecond
	pause = 200 * time.Millisecond
)

func (c *checker) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for c.round(ctx) && ctx.Err() == nil {
			if c.took < brief || c.untold {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-c.wake:
			case <-time.After(pause):
			}
		}
	}
}

// round does the next piece of work, the quickest first, and reports whether there is more.
func (c *checker) round(ctx context.Context) bool {
	s := c.server
	s.mu.Lock()
	v := s.snapshot()
	s.mu.Unlock()
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = make(map[string]bool)
	stale := c.stale
	ctx, c.cancel = context.WithCancel(ctx)
	cancel := c.cancel
	c.mu.Unlock()
	defer cancel()
	if len(dirty) > 0 {
		for uri := range dirty {
			if d := v.docs[uri]; d != nil {
				_ = s.protect(func() { c.untold = !c.quick(ctx, v, d) || c.untold })
			}
		}
		return stale
	}
	if !stale {
		return false
	}
	began := time.Now()
	finished := false
	if err := s.protect(func() { finished = c.full(ctx, v) }); err != nil {
		finished = true // it would fail again
	}
	if finished {
		c.took, c.untold = time.Since(began), false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if finished && len(c.dirty) == 0 && ctx.Err() == nil {
		c.stale = false
	}
	return c.stale
}

// quick checks the part of a document that was changed, and tells its problems where that is
// enough. It reports whether it did.
func (c *checker) quick(ctx context.Context, v *view, d *document) bool {
	p := v.spaceOf(d.file)
	c.mu.Lock()
	before, known := c.checked[d.uri]
	c.mu.Unlock()
	if !known || p == nil || isTest(d.file) || !isRuleFile(p, d) {
		return false
	}
	var others []*rules.File
	for _, name := range p.Files() {
		if name == d.file {
			continue
		}
		if f := v.files.parse(v, name); f != nil {
			others = append(others, f)
		}
	}
	if list, ok := editor.Recheck(ctx, d.file, before, d.text, others, p.Options()); ok && ctx.Err() == nil {
		c.publish(d, list)
		return true
	}
	if f := v.files.parse(v, d.file); f != nil && len(f.Problems) > 0 && ctx.Err() == nil {
		c.publish(d, f.Problems)
		return true
	}
	return false
}

// full checks the workspaces of all open documents. It reports whether it came to its end.
func (c *checker) full(ctx context.Context, v *view) bool {
	groups := make(map[string][]*document)
	for _, d := range v.docs {
		p := v.spaceOf(d.file)
		if p == nil || !isRuleFile(p, d) {
			c.publish(d, nil)
			continue
		}
		groups[p.Key()] = append(groups[p.Key()], d)
	}
	for _, docs := range groups {
		p := v.spaceOf(docs[0].file)
		files := v.workspaceFiles(p, docs...)
		_, problems, err := p.Compile(ctx, files)
		if err != nil {
			return false
		}
		for _, d := range docs {
			c.publish(d, problemsOf(v, files, problems, d))
			c.learn(v, d)
		}
	}
	return ctx.Err() == nil
}

// topKeys begin a rule file.
var topKeys = regexp.MustCompile(`(?m)^(vars|calendars|rules|tests|template|blanks)\s*:`)

// isRuleFile reports whether a document is one of the workspace's, or looks like a rule file: an
// editor may hand over every YAML file.
func isRuleFile(p *space, d *document) bool {
	return slices.Contains(p.Files(), d.file) || store.IsRuleFile(filepath.Base(d.file)) && topKeys.MatchString(d.text)
}

// problemsOf picks the problems of a document. A template has those of its blanks, and what is no
// rule file at all has none.
func problemsOf(v *view, files []*rules.File, problems rules.Problems, d *document) rules.Problems {
	for _, f := range files {
		if f.Name != d.file {
			continue
		}
		if f.Template {
			return v.desk.CheckTemplate(d.file, []byte(d.text))
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p rules.Problem) bool { return p.File != d.file })
}

// learn keeps the symbols of a document for completing in it while it cannot be read.
func (c *checker) learn(v *view, d *document) {
	symbols, _ := v.files.symbolsOf(v, d.file)
	if len(symbols) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.symbols[d.uri] = symbols
}

// lastSymbols returns the symbols of a document as they were when it could be read.
func (c *checker) lastSymbols(v *view, d *document) []editor.Symbol {
	c.mu.Lock()
	known := c.symbols[d.uri]
	c.mu.Unlock()
	if known == nil {
		known, _ = v.files.symbolsOf(v, d.file)
	}
	return known
}

// publish tells the problems of a document, unless it has changed again.
func (c *checker) publish(d *document, problems rules.Problems) {
	c.telling.Lock()
	defer c.telling.Unlock()
	s := c.server
	s.mu.Lock()
	current := s.docs[d.uri] == d
	failures := s.failures[d.file]
	s.mu.Unlock()
	if !current {
		return
	}
	c.mu.Lock()
	c.checked[d.uri] = editor.Checked{Text: d.text, Problems: problems}
	c.mu.Unlock()
	list := []diagnostic{}
	for _, p := range problems.In(s.language) {
		list = append(list, d.diagnostic(p))
	}
	for _, f := range failures {
		list = append(list, diagnostic{d.wordRange(f.Line, 1), severityInformation, "quando test", f.Message})
	}
	s.notify("textDocument/publishDiagnostics", publishParams{d.uri, &d.version, list})
}

// diagnostic returns a problem as the protocol has it.
func (d *document) diagnostic(p rules.Problem) diagnostic {
	out := diagnostic{Range: d.wordRange(p.Line, p.Column), Severity: severityError, Source: "quando", Message: p.Message}
	if p.Severity == source.Warning {
		out.Severity = severityWarning
	}
	if p.Hint != "" {
		out.Message += " (" + p.Hint + ")"
	}
	return out
}

// wordRange returns the range of what stands at a place: a text in quotes, a word, else a
// character.
func (d *document) wordRange(line, column int) textRange {
	from := d.offsetAt(line, column)
	rest := d.text[from:]
	if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	if column == 1 { // of a whole line
		indent := len(rest) - len(strings.TrimLeft(rest, " -"))
		if words := strings.TrimSpace(rest[indent:]); words != "" && indent > 0 {
			return textRange{d.position(from + indent), d.position(from + indent + len(words))}
		}
	}
	length := strings.IndexFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)
	})
	if length < 0 {
		length = len(rest)
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		if end := strings.IndexByte(rest[1:], rest[0]); end >= 0 {
			length = end + 2
		}
	}
	if length == 0 && rest != "" {
		_, length = utf8.DecodeRuneInString(rest)
	}
	return textRange{d.position(from), d.position(from + length)}
}

// isTest reports whether a file holds tests alone.
func isTest(file string) bool { return (&rules.File{Name: filepath.ToSlash(file)}).IsTest() }
