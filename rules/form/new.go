package form

import (
	"fmt"
	"slices"

	"github.com/quandohq/quando/rules/source"
)

// A Template is a rule to begin with.
type Template struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`

	text string // with ID for the id
}

// templates are rules that can be used in any company: they name nothing of the service.
var templates = []Template{
	{"blank", "A rule that does nothing yet", `rules:
  - id: ID
    stage: draft
    when: message.received
    do:
      - log: Nothing yet
`},
	{"reply", "Answer a customer who writes certain words", `rules:
  - id: ID
    stage: draft
    when: message.received
    if:
      - conversation.kind == "direct"
      - says("price", "how much")
    limit: { times: 1, per: 12h } # for each conversation
    do:
      - send_message: "Hello {{ contact.name }}, we will tell you in a moment."
`},
	{"wait", "Act when nobody has answered after a while", `rules:
  - id: ID
    stage: draft
    when: attendance.opened
    mode: single
    cancel_on:
      - attendance.closed
      - { event: message.sent, if: message.by == "team" }
    do:
      - wait: 15m
      - stop_if: attendance.status != "open" or attendance.first_response != nil
      - send_message: "Thank you for waiting, {{ contact.name }}. Somebody will be with you soon."
`},
	{"schedule", "Go through what is open, every few minutes", `rules:
  - id: ID
    stage: draft
    when: { every: 5m, each: attendances, where: { status: open, assignee: none } }
    if: now() - attendance.opened_at > duration("30m")
    limit: { times: 1, per: 12h, by: attendance.id }
    do:
      - send_message: "We have not forgotten you, {{ contact.name }}."
`},
	{"question", "Ask a question and act on the answer", `rules:
  - id: ID
    stage: draft
    when: attendance.closed
    do:
      - send_message: "How did we do, 1 to 5?"
      - wait_for: { event: message.received, if: 'message.text matches "^[1-5]$"', timeout: 24h }
        id: answer
      - choose:
          - if: answer == nil
            do:
              - stop: No answer
          - else:
              - send_message: Thank you!
`},
	{"card", "Do something when a card is moved", `rules:
  - id: ID
    stage: draft
    when: kanban.card.moved
    if: card.priority != "urgent"
    do:
      - update_card: { priority: high }
`},
}

// Templates returns the rules to begin with. The first, which has the least in it, is also what New
// makes without a name.
func Templates() []Template { return slices.Clone(templates) }

// New returns the text of a rule file that holds one rule, made from the template of a name. It
// begins as a draft.
func New(id, template string) ([]byte, error) {
	for _, t := range templates {
		if t.Name == template || template == "" {
			return renamed([]byte(t.text), "ID", id)
		}
	}
	return nil, fmt.Errorf("there is no template %q", template)
}

// renamed gives a rule of a file another id.
func renamed(text []byte, rule, id string) ([]byte, error) {
	file := Parse(text)
	n, err := file.find(rule)
	if err != nil {
		return nil, err
	}
	pairs := merge(n, map[string]*source.Wanted{"id": word(n.Get("id"), id, false)}, nil, true)
	return editRules(file.source, func(item *source.Node) *source.Wanted {
		if item == n {
			return &source.Wanted{Old: n, Kind: source.Mapping, Pairs: pairs}
		}
		return source.Kept(item)
	})
}
