package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// someTests is a rule set with a test that passes, one that fails, and one that fails under a fault
// only.
var someTests = map[string]string{
	"rules/greet.yaml": `
rules:
  - id: greet
    when: attendance.opened
    do: [{ wait: 1m }, { send_message: "Hello \x07<{{ contact.name }}> & all" }]
`,
	"rules/greet_test.yaml": `
tests:
  - name: passes
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps: [{ customer: Marina, says: Hello }, { at: +2m, expect: [send_message] }]
  - name: fails & "shows" <it>
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps: [{ customer: Marina, says: Hello }, { at: +2m, expect: [{ send_message: Hello }] }]
`,
	"rules/late_test.yaml": `
tests:
  - name: leaves no room for a late delivery
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps: [{ customer: Marina, says: Hello }, { at: +61s, expect: [send_message] }]
    faults: { deliver: late }
`,
}

func writeTests(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range someTests {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, file, text)
	}
	t.Chdir(dir)
	return dir
}

func TestTestJSON(t *testing.T) {
	writeTests(t)
	code, out, errOut := quando(t, "test", "--output", "json")
	if code != cli.ExitNo || errOut != "" {
		t.Fatalf("%d %s", code, errOut)
	}
	var doc struct {
		Tests []struct {
			File, Name, Fault, Message string
			OK                         bool
			Actual                     []struct{ Verb string }
		}
		Passed, Failed int
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Tests) != 3 || doc.Passed != 1 || doc.Failed != 2 {
		t.Fatalf("%+v", doc)
	}
	first, second, third := doc.Tests[0], doc.Tests[1], doc.Tests[2]
	if first.File != filepath.Join("rules", "greet_test.yaml") || first.Name != "passes" || !first.OK || first.Message != "" {
		t.Errorf("%+v", first)
	}
	if second.OK || second.Fault != "" || !strings.Contains(second.Message, "not \"Hello\"") || len(second.Actual) != 1 || second.Actual[0].Verb != "send_message" {
		t.Errorf("%+v", second)
	}
	if third.OK || third.Fault != "deliver late" || !strings.Contains(third.Message, "did not happen") {
		t.Errorf("%+v", third)
	}
	for _, key := range []string{`"file"`, `"name"`, `"ok"`, `"fault"`, `"message"`} {
		if strings.Count(out, key+": ") < 3 {
			t.Errorf("%s is not in every test", key)
		}
	}
}

// junitElements says which elements and attributes common readers of the form know, and which of
// them they need.
var junitElements = map[string]struct {
	inside   string
	required []string
	allowed  []string
}{
	"testsuites": {"", []string{"tests", "failures"}, []string{"name", "tests", "failures", "errors", "skipped", "time"}},
	"testsuite":  {"testsuites", []string{"name", "tests", "failures", "errors"}, []string{"name", "tests", "failures", "errors", "skipped", "time"}},
	"testcase":   {"testsuite", []string{"name", "classname"}, []string{"name", "classname", "file", "time"}},
	"failure":    {"testcase", []string{"message", "type"}, []string{"message", "type"}},
}

func TestTestJUnit(t *testing.T) {
	writeTests(t)
	code, out, errOut := quando(t, "test", "--output", "junit")
	if code != cli.ExitNo || errOut != "" {
		t.Fatalf("%d %s", code, errOut)
	}
	counted := make(map[string]int)
	var path []string
	d := xml.NewDecoder(strings.NewReader(out))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			counted[name]++
			path = append(path, name)
			checkJUnit(t, path, e)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if strings.ContainsAny(string(e), "\x07\x1b") {
				t.Errorf("control characters in %q", e)
			}
		}
	}
	if counted["testsuites"] != 1 || counted["testsuite"] != 2 || counted["testcase"] != 3 || counted["failure"] != 2 {
		t.Errorf("%v", counted)
	}
	for _, words := range []string{
		`<testsuites name="quando test" tests="3" failures="2"`, `<testsuite name="rules/greet_test.yaml" tests="2" failures="1"`,
		`<testcase name="fails &amp; &#34;shows&#34; &lt;it&gt;" classname="rules/greet_test" file="rules/greet_test.yaml"`, `type="deliver late"`, "what the engine did:",
	} {
		if !strings.Contains(out, words) {
			t.Errorf("no %s in\n%s", words, out)
		}
	}
}

func checkJUnit(t *testing.T, path []string, e xml.StartElement) {
	t.Helper()
	name := e.Name.Local
	known, ok := junitElements[name]
	if !ok || len(path) > 1 && path[len(path)-2] != known.inside || len(path) == 1 && known.inside != "" {
		t.Errorf("%v is no place for %s", path, name)
	}
	var has []string
	for _, a := range e.Attr {
		has = append(has, a.Name.Local)
		if !slices.Contains(known.allowed, a.Name.Local) {
			t.Errorf("%s has %s", name, a.Name.Local)
		}
		switch a.Name.Local {
		case "tests", "failures", "errors", "skipped", "time":
			if _, err := strconv.ParseFloat(a.Value, 64); err != nil {
				t.Errorf("%s: %s is %q", name, a.Name.Local, a.Value)
			}
		}
	}
	for _, need := range known.required {
		if !slices.Contains(has, need) {
			t.Errorf("%s has no %s", name, need)
		}
	}
}

// TestTestStops: a signal ends the tests within a moment, and that is no answer.
func TestTestStops(t *testing.T) {
	dir := t.TempDir()
	clitest.WriteFile(t, filepath.Join(dir, "r.yaml"), `
rules:
  - { id: often, when: { every: 1m }, do: [{ log: tick }] }
tests:
  - { name: years, steps: [{ at: "+3650d", expect: [] }], faults: all }
`)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errOut bytes.Buffer
	ended := make(chan int)
	go func() { ended <- run(ctx, []string{"test", dir}, strings.NewReader(""), &out, &errOut) }()
	time.AfterFunc(100*time.Millisecond, stop)
	select {
	case code := <-ended:
		if code != cli.ExitError || !strings.Contains(errOut.String(), "stopped when 0 of 1 test had been run") {
			t.Errorf("%d %s %s", code, &out, &errOut)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}
