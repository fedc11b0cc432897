package console

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
	"github.com/quandohq/quando/service"
)

const officeRules = `# Everybody uses this calendar.
calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-12:00, 13:30-18:00] }
`

const greetRules = `rules:
  # A first word.
  - id: hello
    name: A first word
    when: message.received
    if: conversation.kind == "direct" # groups are left alone
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Hello, {{ contact.name }}!"
`

// newEditorDesk is a desk whose rules are files that can be written.
func newEditorDesk(t testing.TB, change ...func(*Options)) *desk {
	t.Helper()
	d := newDesk(t)
	if err := d.AddState([]byte(`{"labels": [{"name": "unhappy"}], "boards": [{"name": "Care", "stages": [{"name": "To call"}, {"name": "Called"}]}]}`)); err != nil {
		t.Fatal(err)
	}
	d.folder = filepath.Join(t.TempDir(), "rules")
	d.write("office.yaml", officeRules)
	d.write("hello.yaml", greetRules)
	directory := service.NewDirectory(d.client)
	if err := directory.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &d.options.Workspaces[0]
	w.Source = nil
	w.Editing = &Editing{
		Store: store.New(store.Options{Path: d.folder, Now: d.clock}), Files: d.readFiles, Rules: rules.Options{Catalog: builtin.Catalog()}, Reload: d.reload, Schemas: builtin.Schemas(),
		Choices: func() []Choice { return choicesOf(directory.Snapshot()) },
		Desk: func(context.Context) (backtest.Desk, error) {
			return builtin.NewOffline(builtin.OfflineOptions{Profile: d.client.Profile(), Snapshot: directory.Snapshot(), Own: func(ctx context.Context, m service.Message) (bool, error) {
				return d.engine.Owns(ctx, "default", m.ID, m.ClientID)
			}}), nil
		},
		Media:     fstest.MapFS{"price-list.pdf": {Data: []byte("%PDF")}},
		Templates: []Template{{Name: "away-reply", Summary: "Answer once while the office is closed", Text: awayTemplate}},
	}
	for _, f := range change {
		f(&d.options)
	}
	d.console = must(New(d.options))
	t.Cleanup(d.console.Close)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	return d
}

const awayTemplate = `rules:
  - id: away-reply
    name: Answer once while the office is closed
    when: message.received
    if:
      - closed("office") # the calendar of the desk
      - conversation.kind == "direct"
    do:
      - send_message: "We are away, {{ contact.name }}."
`

func choicesOf(s service.Snapshot) (list []Choice) {
	for _, l := range s.Lists {
		for _, e := range l.Entries {
			list = append(list, Choice{Kind: string(l.Kind), Name: e.Name, Board: l.Board})
		}
	}
	return list
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	return string(must(os.ReadFile(filepath.Join(d.folder, name))))
}

// readFiles reads the rule files, as the engine's own loader does.
func (d *desk) readFiles() ([]*rules.File, error) {
	names, err := filepath.Glob(filepath.Join(d.folder, "*.yaml"))
	sort.Strings(names)
	var files []*rules.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, rules.Parse(name, text))
	}
	return files, err
}

// reload puts the files to use.
func (d *desk) reload() error {
	files, err := d.readFiles()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.set, _ = rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	return d.engine.SetRules("default", d.set)
}

// post sends a form of the rule editor.
func (d *desk) post(path string, fields ...string) (int, string, http.Header) {
	d.t.Helper()
	form := url.Values{"workspace": {"default"}}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	w := d.ask("POST", path, form)
	return w.Code, w.Body.String(), w.Header()
}

// textareaOf returns what stands in the first large field of a page.
func textareaOf(page string) string {
	_, rest, _ := strings.Cut(page, `name="text"`)
	_, rest, _ = strings.Cut(rest, ">\n")
	text, _, _ := strings.Cut(rest, "</textarea>")
	return html.UnescapeString(text)
}

// tells runs a test's story, which must pass.
func (d *desk) tells(set *rules.Set, test *rules.Test) {
	d.t.Helper()
	r, err := ruletest.Run(d.t.Context(), ruletest.Options{Set: set}, test)
	if err != nil || !r.OK {
		d.t.Errorf("%v\n%s", err, r.Report())
	}
}
