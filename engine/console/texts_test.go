package console

import (
	"bytes"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestPreview shows whose message a text is shown as: of somebody who would have got it, else of
// the last one who wrote, else of somebody made up, which is said.
func TestPreview(t *testing.T) {
	d := newEditorDesk(t)
	const rule = `rules:
  - id: away-reply
    when: message.received
    if: message.text contains "boleto"
    do:
      - send_message: Hello
`
	preview := func(text string) string {
		t.Helper()
		answer := jsonOf[textAnswer](d, "/write/text", "rule", "away-reply", "text", rule, "path", "/do/0/args/text", "want", "preview", "value", text)
		if answer.Preview == nil {
			return "none"
		}
		var b strings.Builder
		for _, p := range answer.Preview.Parts {
			b.WriteString(p.Words)
		}
		return b.String() + " | " + answer.Preview.Said
	}
	const text = "Hi {{ contact.name }}, {{ day_time(next_open('office'), 'en') }}"
	if got := preview(text); got != "Hi Marina, Monday at 8:00 | Marina, a made-up customer, would get this" {
		t.Errorf("with nobody there: %s", got)
	}
	d.says(bento, "Bento", "Oi")
	if got := preview(text); !strings.HasPrefix(got, "Hi Bento, ") || !strings.Contains(got, "| Bento would have got this on 13/11 ") {
		t.Errorf("with somebody who wrote: %s", got)
	}
	d.says(marina, "Marina Souza", "Quero o boleto")
	d.pass(time.Minute)
	d.says(bento, "Bento", "E aí?")
	if got := preview(text); !strings.HasPrefix(got, "Hi Marina Souza, ") {
		t.Errorf("with somebody who would have got it: %s", got)
	}
	for _, wrong := range []string{"Hi {{ contact.nam }}", "Hi {{ contact.name", " "} {
		if got := preview(wrong); got != "none" {
			t.Errorf("%q is shown as %s", wrong, got)
		}
	}
}

// TestUpload shows that a file which a person uploads is where rules send files from, and that one
// which rules may be sending is not replaced.
func TestUpload(t *testing.T) {
	d := newEditorDesk(t)
	upload := func(name, content string) (int, string) {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part := must(form.CreateFormFile("file", name))
		_, _ = part.Write([]byte(content)) // into memory
		_ = form.Close()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/write/upload?workspace=default", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		w := httptest.NewRecorder()
		d.console.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if status, text := upload("menu.pdf", "pizza"); status != 200 || !strings.Contains(text, `"name":"menu.pdf"`) || d.read("media/menu.pdf") != "pizza" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := upload("menu.pdf", "pasta"); status != 409 || !strings.Contains(text, "another file of this name") || d.read("media/menu.pdf") != "pizza" {
		t.Errorf("another file of the name: %d %s", status, text)
	}
	if status, _ := upload(".env", "x"); status != 400 {
		t.Errorf("a hidden file: %d", status)
	}
	if status, text := upload("film.mp4", strings.Repeat("x", maxUpload)); status != 413 || !strings.Contains(text, "16 MB") {
		t.Errorf("a large file: %d", status)
	}
	if page := d.page("/audit"); !strings.Contains(page, "menu.pdf") {
		t.Error("nobody can see who uploaded it")
	}
}
