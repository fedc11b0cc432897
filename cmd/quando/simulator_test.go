package main

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service/sandbox"
)

// TestRunSimulator shows that one can play in a workspace whose service is a sandbox, but not with
// its time.
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
	clitest.Eventually(t, func() (bool, string) {
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

// TestDemoSimulator plays along in the demo: everybody lives in one time, and what a person takes
// out of other people's hands ends nothing.
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
	evening := regexp.MustCompile(`Fri 13 Nov (18|19|2\d):`)
	play("jump", here)
	clitest.Eventually(t, func() (bool, string) {
		_, text := o.asks("GET", console+"/simulator?with="+with, nil, "")
		return evening.MatchString(text) && !strings.Contains(text, "on the way to"), text
	})
	// Everything on the way has happened at its own time.
	clitest.HasLines(t, s.out.String(), `17:55  sla-escalation        → João: .*`, `18:01  away-reply            → Marina: .*`)
	s.end()
	s.over()
}
