package main

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/service/sandbox"
)

// TestRunSimulator shows that one can play in a workspace whose service is a sandbox, but not with its time.
func TestRunSimulator(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - id: greet\n    when: message.received\n    do: [{ send_message: \"Hello, {{ contact.name }}\" }]\n  - { id: magic, when: message.received, if: message.text == \"xyzzy\", do: [{ log: magic }] }\n")
	with := strings.TrimSuffix(o.service(), " }") + ", sandbox: \"" + o.address.ControlURL + "\" }"
	o.start(with)
	play := func(what string, form url.Values) (int, string) {
		return o.asks("POST", o.console+"/simulator/"+what, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode())
	}
	if code, text := play("write", url.Values{"name": {"Rosa"}, "phone": {"+5511955554444"}, "text": {"Oi"}}); code >= 400 {
		t.Fatalf("%d %s", code, text)
	}
	eventually(t, func() (bool, string) {
		_, text := o.asks("GET", o.console+"/simulator", nil, "")
		return strings.Contains(text, "Hello, Rosa") && strings.Contains(text, "The time cannot be moved here"), text
	})
	_, text := o.asks("GET", o.console+"/events?type=message.received", nil, "")
	event := regexp.MustCompile(`/events/\d+`).FindString(text)
	if _, text := o.asks("GET", o.console+event, map[string]string{"Accept-Language": "pt-BR"}, ""); !strings.Contains(text, "message.text era Oi, e a regra pede xyzzy") {
		t.Errorf("it is not told in Portuguese why a rule did not fire:\n%s", text)
	}
	conversation := o.sandbox.Overview(1, sandbox.ID{}).Conversations[0].ID.String()
	if code, text := play("write", url.Values{"with": {conversation}, "text": {"again"}}); code >= 400 {
		t.Errorf("%d %s", code, text)
	}
	if code, text := play("fail", url.Values{"kind": {"429"}, "verb": {"move_card"}, "times": {"2"}}); code >= 400 {
		t.Errorf("%d %s", code, text)
	}
	if f := o.sandbox.Overview(1, sandbox.ID{}).Faults; len(f) != 1 || f[0].Status != 429 || f[0].RetryAfter != 30 || f[0].Count != 2 {
		t.Errorf("%+v", f)
	}
	if _, text := o.asks("GET", o.console+"/simulator", nil, ""); !strings.Contains(text, "429: too many requests · move the card · 2 times") {
		t.Error("the page does not say what fails")
	}
	play("mend", url.Values{})
	if f := o.sandbox.Overview(1, sandbox.ID{}).Faults; len(f) != 0 {
		t.Errorf("%+v", f)
	}
	if code, _ := play("jump", url.Values{"length": {"2h"}}); code != 409 {
		t.Errorf("a jump: %d", code)
	}
}

func TestCheckSandbox(t *testing.T) {
	for _, tt := range []struct {
		control, base string
		ok            bool
	}{
		{"http://127.0.0.1:9090/control", "http://127.0.0.1:9090/v1", true},
		{"http://127.0.0.1:9090/control", "https://api.example.com/v1", false},
		{"http://192.0.2.1:9090/control", "http://192.0.2.1:9090/v1", false},
		{"https://api.example.com/control", "https://api.example.com/v1", false},
		{"127.0.0.1:9090", "http://127.0.0.1:9090/v1", false},
	} {
		if err := checkSandbox(tt.control, tt.base); (err == nil) != tt.ok {
			t.Errorf("%s for %s: %v", tt.control, tt.base, err)
		}
	}
}

// TestDemoSimulator plays along in the demo: everybody lives in one time, and what a person takes out of other people's hands ends nothing.
func TestDemoSimulator(t *testing.T) {
	s := show(t, "--speed", "10")
	s.until("João writes")
	console := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.out.String())
	o := &office{t: t}
	play := func(what string, form url.Values) string {
		t.Helper()
		code, text := o.asks("POST", console+"/simulator/"+what, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode())
		if code >= 400 {
			t.Fatalf("%s: %d %s", what, code, text)
		}
		return text
	}
	text := play("write", url.Values{"name": {"Rosa Prado"}, "phone": {"+5511955554444"}, "text": {"Quero um orçamento"}})
	if !strings.Contains(text, "As Rosa Prado") || !strings.Contains(text, "Send a conversation to the sector") {
		t.Errorf("the rules do nothing for Rosa:\n%s", text)
	}
	with := regexp.MustCompile(`name="with" value="([^"]+)"`).FindStringSubmatch(text)[1]
	here := url.Values{"with": {with}, "back": {"/simulator?with=" + with}}
	here.Set("length", "30m")
	evening := regexp.MustCompile(`Fri 2026-11-13 (18|19|2\d):`)
	play("jump", here)
	eventually(t, func() (bool, string) {
		_, text := o.asks("GET", console+"/simulator?with="+with, nil, "")
		return evening.MatchString(text) && !strings.Contains(text, "on the way to"), text
	})
	// Everything on the way has happened at its own time.
	has(t, s.out.String(), `17:55  sla-escalation        → João: .*`, `18:01  away-reply            → Marina: .*`)
	s.end()
	s.over()
}

// TestDemoDisturbed shows that a plan which a person has made impossible is passed over, and that any other is an error.
func TestDemoDisturbed(t *testing.T) {
	out := &buffer{}
	p := &people{tell: newTeller(out, demoStart().Location())}
	joao := &customer{name: "João"}
	closed := &sandbox.Error{Status: 409, Message: "the conversation has no open attendance"}
	if err := p.told(closed, demoStart(), joao, func() { t.Error("it is told as done") }); err == nil {
		t.Error("a story that does not work is no error")
	}
	p.disturbed = true
	if err := p.told(closed, demoStart(), joao, func() { t.Error("it is told as done") }); err != nil || !out.contains("What was planned for João has come to nothing.") {
		t.Errorf("%v\n%s", err, out)
	}
}
