package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/costtest"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/rules/source"
)

// maxMemory is the most that compiling one file or evaluating one rule may allocate.
const maxMemory = 64 << 20

// upTo is the most processor time that any of it may take, and the most memory.
func upTo(memory uint64) costtest.Bound { return costtest.Bound{JSON: 40, Bytes: memory} }

// TestCompileIsBounded compiles files that are as large as they may be and as costly as their
// author could make them.
func TestCompileIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector everything costs several times as much")
	}
	fill := func(head, piece, tail string) string {
		n := (source.MaxBytes - len(head) - len(tail)) / len(piece)
		return head + strings.Repeat(piece, n) + tail
	}
	numbered := func(head, format string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < source.MaxBytes-len(format)-8; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	step := "rules:\n  - id: r\n    when: message.received\n    do:\n      - send_message: \""
	tests := map[string]string{
		"many rules":                  numbered("rules:\n", "  - {id: r%d, when: manual, do: [mark_read]}\n"),
		"many conditions":             numbered("rules:\n", "  - {id: r%d, when: manual, if: 1>0, do: [mark_read]}\n"),
		"many expressions":            fill(step, "{{1}}", "\"\n"),
		"many calls":                  fill(step, "{{now()}}", "\"\n"),
		"long expressions":            fill("rules:\n  - id: r\n    when: message.received\n    do: [mark_read]\n    if:\n", "      - "+strings.Repeat("contact.name==\"a\"or ", 100)+"true\n", ""),
		"ways to be true":             fill("rules:\n  - id: r\n    when: message.received\n    do: [mark_read]\n    if:\n", "      - "+strings.Repeat("(contact.city==\"b\" or contact.name==\"a\")and ", 4)+strings.Repeat("contact.name==\"a\"and ", 15)+"true\n", ""),
		"patterns":                    fill("rules:\n  - id: r\n    when: message.received\n    do: [mark_read]\n    if:\n", "      - message.text matches \"(a{90}|b){20}\"\n", ""),
		"many values":                 fill("vars:\n  a: [", "a,", "]\n"),
		"many keys":                   fill("vars: {", "a,", "}\n"),
		"deep lists":                  fill("vars:\n  a: ", "[", ""),
		"deep blocks":                 fill("vars:\n  a:\n   ", " -", "\n"),
		"one long text":               fill("rules:\n  - id: r\n    description: \"", "a", "\"\n"),
		"many lines":                  fill("vars:\n  a: |\n", "    a\n", ""),
		"many comments":               fill("vars:\n  a: 1\n", "# a\n", ""),
		"open braces":                 fill(step, "{{", "\"\n"),
		"unknown names":               fill("rules:\n  - id: r\n    when: message.received\n    do: [mark_read]\n    if:\n", "      - nope.x\n", ""),
		"unknown keys":                numbered("rules:\n  - id: r\n", "    k%d: 1\n"),
		"cycles":                      numbered("rules:\n", "  - {id: r%d, when: conversation.updated, from: any, do: [{add_labels: [x]}]}\n"),
		"aliases":                     fill("vars:\n  a: &a [1, 2, 3]\n  b: [", "*a,", "]\n"),
		"holidays":                    fill("calendars:\n  o:\n    timezone: UTC\n    open: { mon: [08:00-12:00] }\n    holidays: [", "br,", "]\n"),
		"calendars":                   numbered("calendars:\n", "  c%d: {timezone: UTC, open: {mon: 01:00-02:00}, holidays: [br,us,de,fr,it,es,gb,ca,at,be,ch]}\n"),
		"large patterns":              fill("rules:\n  - id: r\n    when: message.received\n    do: [mark_read]\n    if:\n", "      - contact.name matches \"(?:a?){450}\"\n", ""),
		"one line of rules":           fill("rules: [", "{id: a, when: manual, if: nope.é, do: [stop]}, ", "]\n"),
		"one line of values":          "vars: {a: [" + strings.Repeat("1,", 32_000) + "1]}\n",
		"layers of rules":             layers(),
		"broken at the last line":     fill("vars:\n", "  # a\n", "  a: \"\n"),
		"aliases of a long text":      fill("vars:\n  a: &a \""+strings.Repeat("Bearer abc1 sk_live_ ", 5000)+"\"\n  b: [", "*a,", "]\n"),
		"aliases of a long text, 800": "vars:\n  a: &a \"" + strings.Repeat("Bearer abc1 sk_live_ ", 4800) + "\"\n  b: [" + strings.Repeat("*a,", 800) + "]\n",
		"aliases of a text in names":  "vars:\n  a: &a \"" + strings.Repeat("x1", 500) + "\"\n  token: [" + strings.Repeat("*a,", 30_000) + "]\n",
		"aliases of a text in steps":  "vars: { a: &a \"" + strings.Repeat("{{ 1 }} sk_live_ ", 6000) + "\" }\nrules:\n" + strings.Repeat("  - { id: r, when: manual, do: ["+strings.Repeat("{ log: *a },", 190)+"stop] }\n", 40),
		"aliases of a long condition": "vars: { a: &a '" + strings.Repeat("message.text contains \"a\" or ", 60) + "true' }\nrules:\n" + strings.Repeat("  - { id: r, when: message.received, if: ["+strings.Repeat("*a,", 90)+"true], do: [stop] }\n", 40),
		"aliases of a long address":   "vars: { a: &a \"https://e.example.com/" + strings.Repeat("aA0/", 20_000) + "\" }\nrules:\n" + strings.Repeat("  - { id: r, when: manual, do: ["+strings.Repeat("{ http_request: { url: *a, headers: { X: *a } } },", 60)+"stop] }\n", 40),
		"long keys by aliases":        "vars:\n  ? &a \"" + strings.Repeat("k", 100_000) + "\"\n  : 1\n  b: [" + strings.Repeat("{*a : 1},", 800) + "]\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if len(text) > source.MaxBytes {
				t.Fatalf("%d bytes", len(text))
			}
			costtest.Within(t, "compiling", upTo(maxMemory), func() { compile("r.yaml", text) })
			costtest.Within(t, "formatting", upTo(2*maxMemory), func() { _, _ = rules.Format("r.yaml", []byte(text)) })
			costtest.Within(t, "hiding", upTo(2*maxMemory), func() { redact.File(text) })
		})
	}
}

// TestHidingIsBounded hides in texts that are as large as they may be and as costly as their author
// could make them.
func TestHidingIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector everything costs several times as much")
	}
	for name, piece := range map[string]string{
		"open mappings": "token: { ", "mappings": "token: {a: b}, ", "names": "- token: x\n", "names in a line": "token: x ", "headers": "headers: {a: 'b}\n", "comments": "# token: x\n", "comments in comments": "# a ",
		"comments behind values": "a: b # token: {x\n", "names alone": "token:\n", "open quotes": "token: \"\n", "open single quotes": "token: 'a\n", "mappings in a line": "{token: {a: b}}, ", "quotes": "- \"token\": \"a\"\n", "addresses": "- https://a:b@c/d?token=e\n", "one address": "https://a/Aa0Aa0Aa0Aa0Aa0Aa0Aa0/?token=x&",
		"keys": "- sk_live_0123456789abcdef\n", "one line of keys": "Bearer 012345678 ", "JSON": "- '{\"token\": [1,2,{\"a\":\"b\"}]}'\n", "open JSON": "[{\"token\":", "blocks": "- token: |\n    a\n", "anchors": "- &a {token: *a}\n",
		"braces": "{{", "lines": "\n", "marks": "•••", "schemes": "a://", "equals": "&token=", "an expression": "{{ token }} ", "long words": "Aa0", "backslashes": "\\", "tabs": "\t#",
	} {
		for _, text := range []string{strings.Repeat(piece, source.MaxBytes/len(piece)), "a: \"" + strings.NewReplacer("\"", "\\\"", "\\", "\\\\", "\n", "\\n", "\t", "\\t").Replace(strings.Repeat(piece, source.MaxBytes/len(piece)/2-2)) + "\"\n", strings.Repeat(" ", 4) + "token: |\n" + strings.Repeat("      "+piece+"\n", source.MaxBytes/(len(piece)+8))} {
			costtest.Within(t, name, upTo(4*maxMemory), func() { redact.File(text) })
		}
		text := strings.Repeat(piece, source.MaxBytes/len(piece))
		costtest.Within(t, name+" in a text", upTo(2*maxMemory), func() { redact.Text(text) })
	}
}

// TestEvaluationIsBounded evaluates expressions that a budget must stop, on events as large as the
// engine accepts.
func TestEvaluationIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector everything costs several times as much")
	}
	doubling := "let a0 = message.text; "
	for i := range 60 {
		doubling += fmt.Sprintf("let a%d = a%d + a%d; ", i+1, i, i)
	}
	tests := map[string]string{
		"doubling":                    doubling + "len(a60) > 0",
		"adding":                      strings.Repeat("message.text + ", 100) + `"" == ""`,
		"replace":                     `len(replace(message.text, "a", message.text)) > 0`,
		"replace nothing":             `len(replace(message.text, "", message.text)) > 0`,
		"join":                        `len(join(map(split(message.text, ""), message.text), "")) > 0`,
		"split":                       `len([` + strings.Repeat(`split(message.text, ""), `, 60) + `1]) > 0`,
		"toJSON":                      `len(toJSON(map(event.data.list, message))) > 0`,
		"string":                      `len(string(map(event.data.list, message))) > 0`,
		"fromJSON":                    `len(fromJSON(message.text)) > 0`,
		"map of texts":                `len(map(event.data.list, message.text + "x")) > 0`,
		"map of lists":                `len(map(event.data.list, [#, [#, #]])) > 0`,
		"patterns":                    strings.Repeat(`message.text matches "(a|b)*c" or `, 50) + "false",
		"patterns over a list":        `any(event.data.list, message.text matches "(a|b)*c")`,
		"contains over a list":        `any(event.data.list, message.text contains "b")`,
		"equals over a list":          `count(event.data.list, message.text == event.data.copy) > 0`,
		"uniq":                        `len(uniq(map(event.data.list, #))) > 0`,
		"sort":                        `len(sort(event.data.list)) > 0`,
		"group":                       `len(groupBy(event.data.list, #)) > 0`,
		"flatten":                     `len(flatten(map(event.data.list, event.data.list))) > 0`,
		"concat":                      `len(concat(` + strings.Repeat("event.data.list, ", 60) + `event.data.list)) > 0`,
		"upper":                       strings.Repeat(`upper(message.text) == "x" or `, 60) + "false",
		"says":                        strings.Repeat(`says("x") or `, 100) + "false",
		"says a long text":            `says(` + strings.Repeat("event.data.accents, ", 90) + `"x")`,
		"in over a list":              `any(event.data.list, # in event.data.words)`,
		"a large pattern":             `message.text matches "(?:a?){450}b"`,
		"a large pattern over a list": `any(event.data.few, event.data.short matches "(?:a?){450}b")`,
		"needles over a list":         `any(event.data.words, message.text contains #)`,
		"length over a list":          `any(event.data.list, len(event.data.accents) == 1)`,
		"durations":                   `any(event.data.list, duration(event.data.durations) == duration("1s"))`,
		"business time":               `any(event.data.list, business_time("office", date("1900-01-01"), date("2200-12-31")) < duration("1h"))`,
		"time zones":                  `any(event.data.list, timezone("America/Sao_Paulo") == timezone("America/New_York"))`,
		"join by a text":              `len(join(split(event.data.short, ""), message.text)) > 0`,
		"many objects":                `len(map(event.data.list, [` + strings.Repeat("1,", 200) + `1])) > 0`,
		"greater over a list":         `any(event.data.list, message.text > event.data.copy)`,
		"reading a date":              `any(event.data.list, date(message.text) == now())`,
		"equals on nested data":       `any(event.data.list, event.data.nested == event.data.twin and false)`,
		"equals on nested data, many": strings.Repeat(`event.data.nested != event.data.twin or `, 40) + "false",
		"not equals on deep data":     `any(event.data.list, event.data.deep != event.data.deep_twin)`,
		"in on nested data":           `any(event.data.list, event.data.nested in event.data.many and false)`,
		"not in on nested data":       strings.Repeat(`event.data.nested not in event.data.many and `, 30) + "true",
		"in on deep data":             `any(event.data.list, event.data.deep in [event.data.deep_twin] and false)`,
		"nested data in a list":       `any(event.data.list, [event.data.nested] == [event.data.twin] and false)`,
		"uniq of nested data":         `len(uniq(event.data.many)) > 0`,
		"max of nested lists":         `any(event.data.list, max(event.data.lists) > 0)`,
		"toJSON of deep data":         `any(event.data.list, len(toJSON(event.data.buried)) == 0)`,
		"equals of maps made here":    `any(event.data.list, ({"a": event.data.nested}) == ({"a": event.data.twin}) and false)`,
		"nested data as a key":        `any(event.data.list, event.data.nested == message.text or event.data.nested == #)`,
	}
	w := newWorld()
	list := make([]any, 100_000)
	for i := range list {
		list[i] = float64(i)
	}
	text := strings.Repeat("a", 512<<10)
	w.facts["message"] = map[string]any{"text": text}
	words := make([]any, 100_000)
	for i := range words {
		words[i] = strings.Repeat("b", 5)
	}
	w.facts["event"] = map[string]any{"data": map[string]any{
		"list": list, "few": list[:200], "words": words, "copy": strings.Clone(text), "short": text[:60<<10],
		"accents": strings.Repeat("é", 300<<10), "durations": strings.Repeat("1s", 100_000),
		"nested": nested(20_000), "twin": nested(20_000), "many": []any{nested(20_000), nested(20_000), nested(20_001)}, "deep": deep(2000, nil), "deep_twin": deep(2000, nil), "buried": deep(100, list), "lists": []any{list, list},
	}}
	for name, condition := range tests {
		t.Run(name, func(t *testing.T) {
			r := ruleIf(t, condition)
			var v rules.Verdict
			costtest.Within(t, "deciding", upTo(maxMemory), func() { v = r.Decide(context.Background(), w) })
			t.Logf("%v %.100v", v.Outcome, v.Err)
		})
	}
}

// nested is an object with so many objects in it.
func nested(n int) map[string]any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"n": float64(i), "text": "the same"}
	}
	return map[string]any{"list": list}
}

// deep is a list in a list, so many times, around something.
func deep(n int, v any) any {
	for range n {
		v = []any{v}
	}
	return v
}

// layers writes rules that start each other in layers, with a cycle at the end that a search by
// ways would not reach.
func layers() string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for layer, rule := range []string{
		"when: attendance.closed, do: [{move_card: {card: x, to: y}}]", "when: kanban.card.moved, do: [{create_card: {board: b, title: t}}]",
		"when: kanban.card.created, do: [{send_message: hi}]", "when: message.sent, do: [{add_labels: [x]}]", "when: conversation.updated, do: [{log: x}]",
	} {
		for i := range 14 {
			fmt.Fprintf(&b, "  - {id: r%d-%d, from: any, %s}\n", layer, i, rule)
		}
	}
	return b.String() + "  - {id: zz, when: attendance.opened, from: any, do: [{open_conversation: {channel: c, phone: p}}]}\n"
}

func TestCycleBehindLayers(t *testing.T) {
	_, problems := compile("r.yaml", layers())
	if !strings.Contains(problems.Error(), "zz → attendance.opened → zz") {
		t.Errorf("the cycle is not found: %.500s", problems.Error())
	}
}
