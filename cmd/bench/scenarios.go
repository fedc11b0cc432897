package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// A scenario is one measurement.
type scenario struct {
	name, about string
	run         func(*bench, context.Context) error
}

// scenarios in the order in which they run.
var scenarios = []scenario{
	{"acknowledge", "events that are durable and acknowledged, at 1, 64 and 256 connections", (*bench).acknowledge},
	{"desk", "the same with twelve rules that are all evaluated, each message in a conversation of its own", (*bench).twelve},
	{"disk", "acknowledged events on a disk whose sync takes 2 ms, and with a log that is not synced", (*bench).disks},
	{"runs", "runs that are finished, with one and with two calls, every intent and receipt durable", (*bench).finishRuns},
	{"journals", "acknowledged events and finished runs with the journal in a file, in PostgreSQL, and in PostgreSQL with two engines", (*bench).journals},
	{"latency", "from a delivery to its effect, at 100 events a second", (*bench).latency},
	{"matching", "one call to each event, with 10 to 10,000 rules of which 10 can match", (*bench).matching},
	{"backlog", "events that came while nothing was decided", (*bench).backlog},
	{"waiting", "what runs that wait cost in memory, and at a start", (*bench).waiting},
	{"rows", "a start, and an event's cost, with few and with many rows in the journal", (*bench).rows},
	{"memory", "memory at rest and under load, and the journal's bytes for each event", (*bench).memory},
	{"kill", "kill -9 in the middle of runs: every acknowledged event has its effect exactly once", (*bench).killing},
	{"peers", "the same job done by others", (*bench).comparePeers},
}

// chosen are the scenarios whose name matches.
func chosen(pattern string) ([]scenario, error) {
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, err
	}
	var list []scenario
	for _, s := range scenarios {
		if re.MatchString(s.name) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenario is called %s; -list shows them all", pattern)
	}
	return list, nil
}

// The rules of the scenarios. A message's text begins with a letter, then comes the event that it
// answers.
const (
	// nothingMatches decides on every event, against it.
	nothingMatches = `rules:
  - { id: never, when: message.received, if: message.text contains "there is no such word", do: [{ send_message: "a {{ event.id }}" }] }
`
	// twelveRules are a typical desk. All of them are evaluated for every message, and none fires.
	twelveRules = `rules:
  - { id: away, when: message.received, if: message.text contains "anybody there", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: price, when: message.received, if: 'message.text matches "(?i)price|how much"', do: [{ send_message: "a {{ event.id }}" }] }
  - { id: invoice, when: message.received, if: says("invoice") or says("receipt"), do: [{ send_message: "a {{ event.id }}" }] }
  - { id: thanks, when: message.received, if: lower(message.text) startsWith "thank", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: cancel, when: message.received, if: says("cancel") and not says("order"), do: [{ send_message: "a {{ event.id }}" }] }
  - { id: long, when: message.received, if: len(message.text) > 2000, do: [{ send_message: "a {{ event.id }}" }] }
  - { id: group, when: message.received, if: conversation.name contains "Team", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: abroad, when: message.received, if: not (contact.phone startsWith "+55"), do: [{ send_message: "a {{ event.id }}" }] }
  - { id: nameless, when: message.received, if: len(contact.name) > 80 or len(contact.name) < 2, do: [{ send_message: "a {{ event.id }}" }] }
  - { id: code, when: message.received, if: 'message.text matches "^[0-9]{6}$"', do: [{ send_message: "a {{ event.id }}" }] }
  - { id: link, when: message.received, if: message.text contains "https://", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: shout, when: message.received, if: len(message.text) > 10 and upper(message.text) == message.text, do: [{ send_message: "a {{ event.id }}" }] }
`
	oneCall = `rules:
  - { id: answer, when: message.received, if: message.text contains "order", do: [{ send_message: "a {{ event.id }}" }] }
`
	twoCalls = `rules:
  - { id: answer, when: message.received, if: message.text contains "order", do: [{ send_message: "a {{ event.id }}" }, { send_message: "b {{ event.id }}" }] }
`
	waits = `rules:
  - { id: answer, when: message.received, if: message.text contains "order", do: [{ wait: 30d }, { send_message: "a {{ event.id }}" }] }
`
)

// manyRules are n rules. Ten can match: they test for a word, which no index covers, and one of
// them matches. Each of the others is for another company.
func manyRules(n int) ruleFiles {
	files := ruleFiles{}
	var b strings.Builder
	for i := range n {
		if b.Len() == 0 {
			b.WriteString("rules:\n")
		}
		condition := fmt.Sprintf(`message.text contains "keyword-%d"`, i)
		if i >= 10 {
			condition = fmt.Sprintf(`contact.company == "company %d" and message.text contains "order"`, i)
		}
		fmt.Fprintf(&b, "  - { id: rule-%d, when: message.received, if: '%s', do: [{ send_message: \"a {{ event.id }}\" }] }\n", i, condition)
		if i%500 == 499 || i == n-1 {
			files[fmt.Sprintf("rules-%d.yaml", i/500)] = b.String()
			b.Reset()
		}
	}
	return files
}
