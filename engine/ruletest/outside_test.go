package ruletest

import (
	"strings"
	"testing"
)

// elsewhere has a rule that calls another system between two messages, twice.
const elsewhere = `
rules:
  - id: tell
    when: attendance.opened
    do:
      - send_message: One moment.
      - http_request:
          url: https://erp.example.com/customers
          headers: { Authorization: "Bearer very-secret" }
          json: { phone: "{{ contact.phone }}", tags: [new, web], level: 3, gone: null }
          repeatable: true
        id: answer
        retry: { times: 3 }
      - http_request: { method: GET, url: "https://erp.example.com/orders?of={{ contact.name }}" }
      - send_message: "Your number is {{ answer.json?.number ?? 'to come' }}."
    on_error: [{ send_message: "{{ error }}" }]
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
ANSWER
      - { customer: Marina, says: Hello }
      - at: +10m
        expect:
          - send_message: One moment.
          - http_request: { method: POST, url: { contains: /customers }, json: { phone: "+5511988887777", tags: [{ contains: ew }, web], level: 3 } }
          - http_request: { method: GET, url: "https://erp.example.com/orders?of=Marina" }
          - send_message: Your number is to come.
    faults: all
`

func answering(with string) string { return strings.Replace(elsewhere, "ANSWER\n", with, 1) }

func withoutFaults(o *Options) { o.NoFaults = true }

func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	r := tell(t, answering(""))
	r.passes(t)
	r = tell(t, strings.Replace(answering("      - answer: { url: https://erp.example.com/customers, json: { number: 12 } }\n"), "is to come", "is 12", 1), withoutFaults)
	r.passes(t)
}

// TestAnswersToAnyQuery shows that an address without a query answers for all of its queries, and
// one with a query for that alone.
func TestAnswersToAnyQuery(t *testing.T) {
	for url, number := range map[string]string{"https://erp.example.com/orders": "7", "https://erp.example.com/orders?of=Marina": "7", "https://erp.example.com/orders?of=Ana": "none"} {
		r := tell(t, `
rules:
  - id: ask
    when: attendance.opened
    do:
      - http_request: { method: GET, url: "https://erp.example.com/orders?of={{ contact.name }}" }
        id: answer
      - send_message: "{{ answer.json?.number ?? 'none' }}"
tests:
  - name: it
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - answer: { url: "`+url+`", json: { number: 7 } }
      - { customer: Marina, says: Hello }
      - { at: +10m, expect: [http_request, { send_message: "`+number+`" }] }
`)
		r.passes(t)
	}
}

// TestOtherSystemFails has another system that refuses, for good or for a while.
func TestOtherSystemFails(t *testing.T) {
	for status, says := range map[string]string{
		"404": "step 2 (http_request): http_request: POST erp.example.com: answered 404 not found",
		"503": "step 2 (http_request): given up after 3 attempts",
	} {
		story := answering("      - answer: { url: https://erp.example.com/customers, status: " + status + " }\n")
		begin, end := strings.Index(story, "          - http_request: { method: GET"), strings.Index(story, "    faults: all")
		r := tell(t, story[:begin]+"          - send_message: { text: { contains: \""+says+"\" } }\n")
		r.passes(t)
		if r := tell(t, story[:end]); r.OK {
			t.Errorf("%s changes nothing", status)
		}
	}
}

// TestOtherSystemsAreCompared changes what is expected of a call.
func TestOtherSystemsAreCompared(t *testing.T) {
	for _, change := range [][2]string{
		{"method: POST", "method: PUT"},
		{"contains: /customers", "contains: /orders"},
		{"json: { phone: \"+5511988887777\", tags", "json: { phone: \"+5511988887778\", tags"},
		{"contains: ew", "contains: old"},
		{"web], level: 3 } }", "web, other], level: 3 } }"},
		{"web], level: 3 } }", "web], level: 4 } }"},
		{"web], level: 3 } }", "web], size: 3 } }"},
		{"?of=Marina\"", "?of=Otto\""},
	} {
		expect := strings.LastIndex(elsewhere, "expect:")
		story := answering("")
		story = story[:expect-10] + strings.Replace(story[expect-10:], change[0], change[1], 1)
		r := tell(t, story)
		r.fails(t, "number")
		if report := r.Report(); strings.Contains(report, "very-secret") {
			t.Errorf("the report tells a secret:\n%s", report)
		}
	}
}

// TestOtherSystemUnknown: a call that must not be repeated, cut off, is left to a person, and the
// story ends there.
func TestOtherSystemUnknown(t *testing.T) {
	r := tell(t, strings.Replace(answering(""), "          repeatable: true\n", "", 1), func(o *Options) { o.CrashEvery = 1 })
	r.fails(t, "under the fault: crash every_step", "uncertain")
}

// TestQueriesAndAcceptedAnswers shows that a test names a query as the rule does, or as part of the
// address, and that an accepted status is a result.
func TestQueriesAndAcceptedAnswers(t *testing.T) {
	const story = `
rules:
  - id: ask
    when: attendance.opened
    do:
      - http_request: { method: GET, url: "https://erp.example.com/orders", query: { of: "{{ contact.name }}", page: 2, tag: [a, b], gone: "{{ contact.city }}" }, accept: 404 }
        id: answer
      - send_message: "{{ answer.ok ? 'found' : 'none' }} {{ answer.status }}"
tests:
  - name: it
    given: { contacts: [{ name: Ana Maria, phone: "+5511988887777" }] }
    steps:
      - answer: { url: https://erp.example.com/orders, status: 404 }
      - { customer: Ana Maria, says: Hello }
      - { at: +10m, expect: [{ http_request: EXPECTED }, { send_message: "none 404" }] }
`
	for expected, passes := range map[string]bool{
		`{ url: "https://erp.example.com/orders", query: { of: Ana Maria, page: 2, tag: [a, b], gone: null } }`: true,
		`{ url: "https://erp.example.com/orders?of=Ana%20Maria&page=2&tag=a&tag=b" }`:                           true,
		`{ query: { of: { contains: Maria } } }`:                                                                true,
		`{ url: "https://erp.example.com/orders", query: { of: Ana } }`:                                         false,
		`{ url: "https://erp.example.com/orders" }`:                                                             false,
		`{ url: "https://erp.example.com/other", query: { of: Ana Maria } }`:                                    false,
		`{ query: { tag: a } }`:   false,
		`{ query: { of: null } }`: false,
	} {
		if r := tell(t, strings.Replace(story, "EXPECTED", expected, 1)); r.OK != passes {
			t.Errorf("%s passes: %t\n%s", expected, r.OK, r.Report())
		}
	}
}

// TestOtherSystemDoesNotAnswer has another system that cannot be reached, or that does not answer
// in time: a call that may be repeated is, as often as the rule says, and another is left to a
// person where it may have arrived.
func TestOtherSystemDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const story = `
rules:
  - id: ask
    when: attendance.opened
    do:
      - http_request: { url: "https://erp.example.com/orders", METHOD }
        id: answer
        retry: { times: 3 }
      - send_message: "{{ answer.text }} {{ answer.json == nil }}"
    on_error: [{ send_message: "{{ error }}" }]
tests:
  - name: it
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - answer: { url: "https://erp.example.com/orders", ANSWER }
      - { customer: Marina, says: Hello }
      - { at: AT, answer: { url: "https://erp.example.com/orders", text: "it's ok" } }
      - { at: +1h, expect: [EXPECTED] }
`
	const get, post, repeatable = "method: GET", "json: {}", "repeatable: true"
	for name, c := range map[string]struct{ answer, method, at, expected string }{
		"a text":                  {"text: ok", post, "+0s", "http_request, { send_message: ok true }"},
		"a text that is JSON":     {`text: "[1]"`, post, "+0s", `http_request, { send_message: "[1] false" }`},
		"no text":                 {`status: 404, text: gone`, post, "+0s", "http_request, { send_message: { text: { contains: answered 404 not found } } }"},
		"unreachable":             {"fails: unreachable", post, "+2h", "{ send_message: { text: { contains: given up after 3 attempts } } }"},
		"unreachable, for a time": {"fails: unreachable", post, "+1s", "http_request, { send_message: it's ok true }"},
		"time-out of a read":      {"fails: timeout", get, "+2h", "http_request, { send_message: { text: { contains: given up after 3 attempts } } }"},
		"time-out, repeatable":    {"fails: timeout", repeatable, "+2h", "http_request, { send_message: { text: { contains: given up after 3 attempts } } }"},
		"time-out, for a time":    {"fails: timeout", repeatable, "+1s", "http_request, { send_message: it's ok true }"},
		"time-out":                {"fails: timeout", post, "+1s", "http_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tell(t, strings.NewReplacer("METHOD", c.method, "ANSWER", c.answer, "AT", c.at, "EXPECTED", c.expected).Replace(story))
			r.passes(t)
		})
	}
	r := tell(t, strings.NewReplacer("METHOD", post, "ANSWER", "fails: timeout", "AT", "+1s", "EXPECTED", "").Replace(story))
	r.fails(t, "uncertain")
}
