package redact_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/redact"
)

func TestFile(t *testing.T) {
	for text, want := range map[string]string{
		"- http_request:\n    headers:\n      Authorization: Bearer x\n      X-Key: |\n        long\n    json: {a: b}": "- http_request:\n    headers:\n      Authorization: •••\n      X-Key: |\n        •••\n    json: {a: b}",
		"headers: { Authorization: \"Bearer x\" }\nurl: y":                                                             "headers: { Authorization: ••• }\nurl: y",
		`rules: [{"do": [{"http_request": {"headers": {"A": "b"}, "url": "u"}}]}]`:                                     `rules: [{"do": [{"http_request": {"headers": {"A": •••}, "url": "u"}}]}]`,
		"- http_request:\n    headers: {\n      A: \"b}\",\n      C: d }\n    url: u":                                  "- http_request:\n    headers: {\n      A: •••,\n      C: ••• }\n    url: u",
		"- http_request:\n    headers: &h\n      { A: it's }\n    url: u":                                              "- http_request:\n    headers: &h\n      { A: ••• }\n    url: u",
		"- http_request:\n    'headers':\n# ours\n      A: >-\n        b:c d: e\n\n      F: g\n    url: u":             "- http_request:\n    'headers':\n# ours\n      A: >-\n        •••\n\n      F: •••\n    url: u",
		"vars:\n  erp_token: s3cr,et\n  limit: 5\n  ErpPassword: |\n    one\n    two\nrules:":                          "vars:\n  erp_token: •••\n  limit: 5\n  ErpPassword: |\n    •••\n    •••\nrules:",
		`json: { token: "a, b", phone: 1, api-key: it's, password: 'x' }`:                                              `json: { token: •••, phone: 1, api-key: •••, password: ••• }`,
		"json:\n  token: \"{{ vars.erp }}\"\n  keyword: shoes\n  secret: {a: {b: c}}\n  n: 1":                          "json:\n  token: \"{{ vars.erp }}\"\n  keyword: shoes\n  secret: {a: {b: •••}}\n  n: 1",
		`json: {"token":"x","a":1}`: `json: {"token":•••,"a":1}`,
		"maps: https://maps.example/AIza0123456789abcdefghijklmnopqrstuvwxy and github_pat_0123456789abcdefghijklmnopqrstuv": "maps: https://maps.example/••• and •••",
		"# token: abc\nvars: {}\n# ours is sk_live_51Habcdefgh, mind you":                                                    "# token: •••\nvars: {}\n# ours is •••, mind you",
		`url: "https://user:hunter2@erp.example.com/orders?api_key=abc&page=2&sig=d"`:                                        `url: "https://•••@erp.example.com/orders?api_key=•••&page=2&sig=•••"`,
		`x: "Bearer swordfish"` + "\ny: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln\nif: message.text contains \"token\"":      "x: •••\ny: •••\nif: message.text contains \"token\"",
		"url: https://erp.example.com/orders?page=2\nsend_message: \"Hi: how are you, {{ contact.name }}?\"":                 "url: https://erp.example.com/orders?page=2\nsend_message: \"Hi: how are you, {{ contact.name }}?\"",

		// What is named in a list, in lists of lists, by an anchor, by another's alias, in a key that
		// stands twice.
		"tokens:\n  - a\n  - [b, {c: d}]\n":             "tokens:\n  - •••\n  - [•••, {c: •••}]\n",
		"x: &a s3cret\ntoken: *a\ny: &b\n  - c\nz: d\n": "x: &a •••\ntoken: *a\ny: &b\n  - c\nz: d\n",
		"a: 1\ntoken: x\ntoken: y\n<<: {token: z}\n":    "a: 1\ntoken: •••\ntoken: •••\n<<: {token: •••}\n",
		"? token\n: x\n? [a]\n: y\n":                    "? token\n: •••\n? [a]\n: y\n",
		"token: \"a\\tb\n  c\"\nx: 1\n":                 "token: •••\n  •••\nx: 1\n",
		"token:\n  a b\n  c # d\nx: 1\n":                "token:\n  •••\n  ••• # d\nx: 1\n",
		"passwords: 1234\nhas_token: true\ntoken: ~\n":  "passwords: •••\nhas_token: true\ntoken: ~\n",
		"token: !!str x\ntokens: !!seq [ &q y ]\n":      "token: !!str •••\ntokens: !!seq [ &q ••• ]\n",
		// Names that only hold such a word.
		"keyword: a\nauthor: b\nkey: c\nmonkey: d\n": "keyword: a\nauthor: b\nkey: c\nmonkey: d\n",
		"erp_key: a\nauth: b\nx-auth: c\nerpKey: d":  "erp_key: •••\nauth: •••\nx-auth: •••\nerpKey: •••",
		// Paths, where check finds a secret in them.
		"url: https://hooks.example.com/services/T01/B02/AbCdEfGh0123456789xyz":                                   "url: https://hooks.example.com/services/T01/B02/•••",
		"http_request: https://h.example.com/in/AbCdEfGh0123456789xyz/{{ event.id }}":                             "http_request: https://h.example.com/in/•••/{{ event.id }}",
		"hook: https://h.example.com/AbCdEfGh0123456789xyz\nlog: see https://h.example.com/AbCdEfGh0123456789xyz": "hook: https://h.example.com/•••\nlog: see https://h.example.com/AbCdEfGh0123456789xyz",
		// Comments are read as files are.
		"# headers:\n#   X: y\n#   Z: |\n#     long\na: b # token: c\n## password: x\n": "# headers:\n#   X: •••\n#   Z: |\n#     •••\na: b # token: •••\n## password: •••\n",
		"a: b # see: the token: it's {here\n":                                           "a: b # see: •••\n",
		"# just: a note: with colons\na: b\n":                                           "# just: a note: with colons\na: b\n",
		"":                                                                              "",
		`body: '{"a": 1, "token": "x, y", "deep": [{"password": 12, "url": "https://h.example.com/AbCdEfGh0123456789xyz"}]}'`: `body: '{"a": 1, "token": "•••", "deep": [{"password": •••, "url": "https://h.example.com/•••"}]}'`,
		"# nothing\n": "# nothing\n",
		// What cannot be read.
		"do:\n  -   headers:\n        A: b\n      url: u\n  - headers: {A: b": "do:\n  -   headers:\n        A: •••\n      url: •••\n  - headers: •••",
		"a: b: c\nd: e\n":                 "a: b: c\nd: e\n",
		"a: b: c\ntokens:\n- d\n- e: f\n": "a: •••\ntokens:\n•••\n- e: •••\n",
	} {
		if got := redact.File(text); got != want {
			t.Errorf("%s\ngives\n%s\nnot\n%s", text, got, want)
		}
	}
}

// TestValue shows that recorded data is hidden as the text of a rule is, and is not changed
// itself.
func TestValue(t *testing.T) {
	given := func() map[string]any {
		return map[string]any{
			"headers": map[string]any{"X-Customer": "a", "N": 1}, "url": "https://u:p@h.example.com/AbCdEfGh0123456789xyz?key=b&n=1", "key": "c", "idempotency_key": "d", "has_token": true, "token": nil,
			"json": map[string]any{"tokens": []any{"e", []any{map[string]any{"deep": "f"}}, 12.5}, "text": "mine is sk_live_0123456789abcdef", "n": 7}, "Idempotency-Key": "g", "empty_token": "",
		}
	}
	v := given()
	want := map[string]any{
		"headers": map[string]any{"X-Customer": "•••", "N": "•••"}, "url": "https://•••@h.example.com/•••?key=•••&n=1", "key": "c", "idempotency_key": "d", "has_token": true, "token": nil,
		"json": map[string]any{"tokens": []any{"•••", []any{map[string]any{"deep": "•••"}}, "•••"}, "text": "mine is •••", "n": 7}, "Idempotency-Key": "g", "empty_token": "",
	}
	if diff := cmp.Diff(want, redact.Value(v)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(given(), v); diff != "" {
		t.Errorf("it was changed (-want +got)\n%s", diff)
	}
}

// TestFileLeavesRules shows that people see the examples as they are.
func TestFileLeavesRules(t *testing.T) {
	err := fs.WalkDir(os.DirFS("../../examples"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".yaml") {
			return err
		}
		text, err := os.ReadFile("../../examples/" + name)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(string(text), redact.File(string(text))); diff != "" {
			t.Errorf("%s (-written +shown)\n%s", name, diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFileOfAnyForm writes secrets in every form that YAML has, at random places: none is shown,
// and everything else is.
func TestFileOfAnyForm(t *testing.T) {
	for seed := range uint64(3000) {
		w := &yamlWriter{r: rand.New(rand.NewPCG(seed, 7))}
		w.mapping(0, 3, false)
		text := w.b.String()
		got := redact.File(text)
		if strings.Contains(got, "Sword") || strings.Contains(got, "Fish") {
			t.Fatalf("seed %d: a secret is shown:\n%s\nof\n%s", seed, got, text)
		}
		if a, b := strings.Count(text, "plain"), strings.Count(got, "plain"); a != b || strings.Count(text, "\n") != strings.Count(got, "\n") {
			t.Fatalf("seed %d: more is hidden, %d of %d are shown:\n%s\nof\n%s", seed, b, a, got, text)
		}
		if again := redact.File(got); again != got {
			t.Fatalf("seed %d: hidden once more it is\n%s\nnot\n%s", seed, again, got)
		}
	}
}

// A yamlWriter writes mappings at random: what is secret holds Sword and Fish, everything else
// plain.
type yamlWriter struct {
	b strings.Builder
	r *rand.Rand
	n int
}

func (w *yamlWriter) pick(of ...string) string { return of[w.r.IntN(len(of))] }

func (w *yamlWriter) mapping(indent, depth int, secret bool) {
	pad := strings.Repeat(" ", indent)
	for range 1 + w.r.IntN(4) {
		w.n++
		name, below := fmt.Sprintf("plain%d", w.n), secret
		if w.r.IntN(3) == 0 {
			name, below = fmt.Sprintf("%s%d", w.pick("token_", "erp-password", "apikey", "Secret", "x-auth-"), w.n), true
		}
		if w.r.IntN(6) == 0 {
			w.b.WriteString(pad + w.pick("# plain", "#plain: 1", "# token: SwordFish", "#   headers: {X: Sword, Y: \"Fish\"}") + "\n")
		}
		key := pad + w.pick(name, `"`+name+`"`, "'"+name+"'") + ":"
		switch kind := w.r.IntN(8); {
		case kind == 0 && depth > 0:
			w.b.WriteString(key + w.pick("\n", " # plain\n", fmt.Sprintf(" &m%d\n", w.n)))
			w.mapping(indent+2, depth-1, below)
		case kind == 1 && depth > 0:
			w.b.WriteString(key + "\n")
			for range 1 + w.r.IntN(3) {
				w.b.WriteString(pad + "  - " + w.value(below) + "\n")
			}
		case kind == 2:
			w.b.WriteString(key + " [" + w.value(below) + ", {plain: " + w.value(below) + "},\n" + pad + "   " + w.value(below) + "]\n")
		case kind == 3:
			w.b.WriteString(key + w.pick(" |\n", " >-\n", " |2\n", " |+ # plain\n"))
			for range 1 + w.r.IntN(3) {
				w.b.WriteString(pad + "  " + w.word(below) + " " + w.word(below) + "\n")
			}
		default:
			w.b.WriteString(key + " " + w.pick("", "!!str ", fmt.Sprintf("&a%d ", w.n)) + w.value(below) + w.pick("", " # plain", " # token: Fish") + "\n")
		}
	}
}

func (w *yamlWriter) word(secret bool) string {
	if secret {
		return w.pick("SwordFish", "Sword", "éFish—")
	}
	return w.pick("plain", "ünplain", "plain→")
}

func (w *yamlWriter) value(secret bool) string {
	word := w.word(secret)
	return w.pick(word, word+" "+w.word(secret), `"`+word+`"`, "'"+word+" ''"+w.word(secret)+"'", `"\t`+word+`\u00e9 `+w.word(secret)+`"`)
}

func FuzzFile(f *testing.F) {
	f.Add("a: b\ntoken: c\n# d\n")
	f.Add("x: &a\n  - *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		if shown := redact.File(text); strings.Count(shown, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q has other lines than %q", shown, text)
		}
	})
}
