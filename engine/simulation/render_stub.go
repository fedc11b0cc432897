package simulation

func (s *Scenario) YAML(rules []Rule) []byte {
	return []byte(`calendars:
  office: { timezone: America/Sao_Paulo, open: { mon-fri: [08:00-12:00, 13:30-18:00], sat: [09:00-13:00] } }
rules:
  - id: r1
    when: message.received
    do:
      - send_message: "r1/s1 hello #{{ event.id }}"
      - add_labels: [vip]
      - wait: 15m
      - transfer: { sector: Support, reason: "r1/s4 x #{{ event.id }}" }
      - create_card: { board: Deals, title: "r1/s5 x #{{ event.id }}", conversation: "{{ conversation.id }}" }
      - move_card: Proposal
  - id: r2
    when: { every: 1h, each: attendances, where: { status: open } }
    do:
      - send_message: "r2/s1 tick #{{ event.id }}"
`)
}
func Expect(s *Scenario, h *History) []Effect                                         { return nil }
func Comparable(s *Scenario) (bool, string)                                           { return false, "" }
func Generate(seed uint64) *Scenario                                                  { return nil }
func Shrink(s *Scenario, fails func(*Scenario) bool, budget int) *Scenario            { return nil }
func TestFile(s *Scenario, expect []Effect) []byte                                    { return nil }
