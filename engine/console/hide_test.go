package console

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/costtest"
)

const secretRules = `# once:
#   headers:
#     X-Customer: SwordFish-comment
vars:
  partner: &partner SwordFish-anchor
  hook: https://hooks.example.com/services/T0001/SwordFish0123456789abcd
  erp:
    tokens:
      - SwordFish-list
      - { first: SwordFish-nested, second: [SwordFish-deep] }
    api_keys: [SwordFish-flow,
      "SwordFish-
       folded"]
    passwords:
      ana: |
        SwordFish-block
        SwordFish-second
  erp_token: *partner
rules:
  - id: hello
    when: manual
    do:
      - http_request:
          url: https://hooks.example.com/in/SwordFish0123456789efgh/orders
          headers:
            X-Customer: SwordFish-header
            ? X-Other
            : SwordFish-other
          json: { "token": 'SwordFish-quoted', deep: { list: [{ secret: SwordFish-json }] }, "access_token":"SwordFish-tight" }
      - log: the order was told
`

// TestHistoryHidesSecrets repeats an attack by a viewer, who read in the history what is in lists
// below tokens, in comments, behind anchors, and in the paths of URLs.
func TestHistoryHidesSecrets(t *testing.T) {
	d := newEditorDesk(t)
	texts := []string{secretRules, strings.ReplaceAll(secretRules, "SwordFish-", "SwordFish+"), secretRules + "  : : {\n", strings.ReplaceAll(secretRules, "\n", "\r\n")}
	for _, text := range texts {
		d.write("hello.yaml", text)
		// Changes by other means enter the history with the next save.
		status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", greetRules, "was", d.sumOf("hello.yaml"), "stage", "draft")
		if status != http.StatusSeeOther {
			t.Fatal(status, body)
		}
	}
	page := d.page("/history?workspace=default&file=hello.yaml")
	if n := strings.Count(page, "SwordFish"); n > 0 {
		at := strings.Index(page, "SwordFish")
		t.Errorf("%d secrets are shown, the first in %q", n, page[max(0, at-200):at+60])
	}
	for _, want := range []string{"X-Customer", "api_keys", "the order was told", "https://hooks.example.com/services/T0001/"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is hidden too", want)
		}
	}
}

// TestHistoryIsBounded shows that a page with texts as large as they may be, made to be slow to
// hide in, has a bounded cost.
func TestHistoryIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes processor time of its own")
	}
	d := newEditorDesk(t)
	for _, piece := range []string{"token:\n", "token: \"\n", "- token: x\n", "token: {a: b}, "} {
		d.write("hello.yaml", strings.Repeat(piece, (144<<10)/len(piece)))
		if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", greetRules, "was", d.sumOf("hello.yaml"), "stage", "draft"); status != http.StatusSeeOther {
			t.Fatal(status, body)
		}
	}
	costtest.Within(t, "the page", costtest.Bound{JSON: 120}, func() { d.page("/history?workspace=default&file=hello.yaml") })
}

// TestToTestShowsWhatIsThere shows that nothing on the page of a test is reversed or invisible, and
// that the test has the customer's text nevertheless.
func TestToTestShowsWhatIsThere(t *testing.T) {
	d := newEditorDesk(t)
	const wrote = "\u202etxet eht\u202c \u2066and\u2069 \u200fmore\U000e0041 \x1b[2J\u2028 é 😊"
	d.says(marina, "Marina", wrote)
	path := "/runs/" + itoa(d.runOf("hello"))
	page := d.page(path + "/test")
	if at := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && engine.Steers(r) }); at >= 0 {
		t.Errorf("the page has %q in it", page[max(0, at-60):at+10])
	}
	item := html.UnescapeString(textareaOf(page))
	if status, body, _ := d.post("/tests", "file", "hello_test.yaml", "rule", "hello", "text", item, "back", path); status != http.StatusSeeOther {
		t.Fatalf("%d %s\n%s", status, body, item)
	}
	set := d.book().Set
	if len(set.Tests) != 1 || set.Tests[0].Steps[0].Fields["says"] != wrote {
		t.Fatalf("the test says %q, not %q", set.Tests[0].Steps[0].Fields, wrote)
	}
	d.tells(set, set.Tests[0])
}
