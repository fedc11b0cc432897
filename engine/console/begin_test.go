package console

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	gallery "github.com/quandohq/quando/rules/templates"
)

// newGalleryDesk is a desk with all templates.
func newGalleryDesk(t testing.TB) *desk {
	return newEditorDesk(t, func(o *Options) {
		for _, name := range gallery.Names() {
			text, _ := gallery.Text(name)
			o.Workspaces[0].Editing.Templates = append(o.Workspaces[0].Editing.Templates, Template{Name: name, Text: string(text)})
		}
		o.Workspaces[0].Editing.Templates = o.Workspaces[0].Editing.Templates[1:] // the desk's own, of the same name
	})
}

// imports uploads a file.
func (d *desk) imports(text string) (int, string) {
	d.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file := must(form.CreateFormFile("file", "rule.yaml"))
	_, err := file.Write([]byte(text))
	if err != nil || form.WriteField("workspace", "default") != nil || form.Close() != nil {
		d.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/write/fill", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	d.console.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestGallery shows templates in groups, in the reader's language, with what they need.
func TestGallery(t *testing.T) {
	d := newGalleryDesk(t)
	page := d.page("/write")
	for _, want := range []string{"After hours", "Answering in time", "Surveys", "Escalate in two levels", "are brought to a supervisor", "Needs opening hours, a label"} {
		if !strings.Contains(page, want) {
			t.Errorf("the gallery does not say %q", want)
		}
	}
}

// TestTemplateAsksForItsBlanks goes from a template to a rule that has the desk's own names.
func TestTemplateAsksForItsBlanks(t *testing.T) {
	d := newGalleryDesk(t)
	page := d.page("/write?workspace=default&template=sla-escalation")
	for _, want := range []string{"How long may the first answer take?", `value="15m"`, `<option value="Supervisors">`, `<option value="office">`, "conversations:write"} {
		if !strings.Contains(page, want) {
			t.Errorf("the questions do not have %q", want)
		}
	}
	if strings.Contains(page, `value="+5511999990000"`) {
		t.Error("a stranger's phone is proposed")
	}
	values := []string{
		"template", "sla-escalation", "blank.first", "20m", "blank.second", "40m", "blank.sector", `Sup: "{{ x }}"`, "blank.person", "Carla", "blank.label", "late",
		"blank.office", "office", "blank.phone", "soon", "blank.channel", "Main",
	}
	status, page, _ := d.post("/write/fill", values...)
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, "is not a phone; write it like") || !strings.Contains(page, `value="20m"`) {
		t.Fatalf("%d: a wrong phone is not reported with what was typed", status)
	}
	values[len(values)-3] = "+5521912345678"
	status, page, _ = d.post("/write/fill", values...)
	text := textareaOf(page)
	if status != http.StatusOK || !strings.Contains(text, "first: 20m") || !strings.Contains(text, "stage: draft") || strings.Contains(text, "blanks:") {
		t.Fatalf("%d\n%s", status, text)
	}
	if strings.Contains(text, "timezone") {
		t.Error("the desk's own calendar is described again")
	}
	parsed := rules.Parse("new.yaml", []byte(text))
	set, problems := rules.Compile(parsed.Beside(must(d.readFiles())), d.options.Workspaces[0].Editing.Rules)
	if problems.HasErrors() || set.Rule("sla-escalation") == nil {
		t.Errorf("%v\n%s", problems, text)
	}
}

// TestImportAndExport takes a rule out as a file, and in again.
func TestImportAndExport(t *testing.T) {
	d := newGalleryDesk(t)
	w := d.ask("GET", "/write/export?workspace=default&rule=hello", nil)
	if w.Code != 200 || w.Body.String() != greetRules || !strings.Contains(w.Header().Get("Content-Disposition"), "filename=hello.yaml") {
		t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	status, page := d.imports(greetRules)
	if text := textareaOf(page); status != 200 || !strings.Contains(text, "id: hello-2") || !strings.Contains(text, "stage: draft") || !strings.Contains(text, "# groups are left alone") {
		t.Errorf("%d\n%s", status, text)
	}
	template, _ := gallery.Text("won-card-closes")
	status, page = d.imports(string(template))
	if status != 200 || !strings.Contains(page, "Which stage means won?") {
		t.Fatalf("%d: an imported template does not ask for its blanks", status)
	}
	status, page, _ = d.post("/write/fill", "text", textareaOf(page), "blank.board", "Sales", "blank.stage", "Closed", "blank.label", "done")
	if text := textareaOf(page); status != 200 || !strings.Contains(text, `card.stage_name == "Closed"`) || !strings.Contains(text, "remove_labels: [done]") {
		t.Errorf("%d\n%s", status, text)
	}
	for what, test := range map[string]struct {
		text, says string
		status     int
	}{
		"no YAML":        {"rules: [", "The file was not imported", 422},
		"no rules":       {"vars: { a: 1 }\n", "There are no rules in the file.", 422},
		"wrong template": {"blanks:\n  - { name: a, type: text, default: x, words: What }\n", "the rules do not use the blank", 422},
		"too large":      {"# " + strings.Repeat("x", 300<<10), "too much", 413},
		"far too large":  {"# " + strings.Repeat("x", 3<<20), "too much", 413},
		"nothing":        {"", "", 404},
	} {
		if status, page := d.imports(test.text); status != test.status || !strings.Contains(page, test.says) {
			t.Errorf("%s: %d\n%.2000s", what, status, page)
		}
	}
}

// TestGalleryInABrowser goes from the gallery to a draft with the keyboard, on a wide screen and on
// a phone, in both languages.
func TestGalleryInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newGalleryDesk(t)
	b := newBrowser(t, d.serve())
	b.do(chromedp.Navigate("about:blank"))
	b.watchPolicy()
	pages := []struct{ name, path string }{{"gallery", "/write"}, {"blanks", "/write?workspace=default&template=vip-routing"}}
	for w, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 800))
		for l, lang := range words.Languages {
			d.languageCookie(b, lang.Code)
			for n, p := range pages {
				if !inTurn(n+w, l, len(words.Languages)) {
					continue
				}
				b.theme("light")
				b.open(p.path)
				b.isGood(p.name+"-"+itoa(width), lang.Code)
				if wide := look(b, "width", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
					t.Errorf("%s is %d pixels wider than the screen", p.name, wide)
				}
			}
		}
	}
	if list := b.refused(); len(list) > 0 {
		t.Errorf("the policy refused %v", list)
	}
	d.languageCookie(b, "en")
	b.open("/write")
	b.follow(`a[href$="template=vip-routing"]`)
	look(b, "type", chromedp.Evaluate[bool](`document.querySelector("#blank-companies").focus(), true`))
	b.do(chromedp.KeyEvent("\nNorte & Filhos"))
	look(b, "fill", chromedp.Evaluate[bool](`document.querySelectorAll(".blank input").forEach(i => { if (!i.value) i.value = "Carla" }), true`))
	b.follow(`form.blanks button`)
	b.until(`document.getElementById("text") && document.getElementById("text").value.includes("Norte & Filhos")`)
}
