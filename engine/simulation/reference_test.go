package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// monday is when the stories of these tests begin: nine in the morning at the desk.
var monday = time.Date(2026, time.November, 16, 12, 0, 0, 0, time.UTC)

// A madeUp desk is written by hand, with events as a service would raise them. Ids are the names of
// things.
type madeUp struct {
	history History
	open    map[string]string   // attendances, by customer
	labels  map[string][]string // by customer
	n       int
}

func newMadeUp() *madeUp {
	t := &madeUp{open: map[string]string{}, labels: map[string][]string{}}
	t.history.Names = map[string]string{}
	for _, list := range [][]string{Labels, Sectors, People, {"Deals", "Care"}, Boards["Deals"], Boards["Care"]} {
		for _, name := range list {
			t.history.Names[name] = name
		}
	}
	return t
}

// raise raises an event, and returns its id.
func (t *madeUp) raise(after time.Duration, typ, customer, cause string, data map[string]any) string {
	t.n++
	if typ[:4] != "kanb" {
		data["conversation"] = map[string]any{"id": "talk-" + customer, "contact_id": "contact-" + customer, "label_ids": t.labels[customer], "unread": true, "sector_id": nil}
	}
	raw, _ := json.Marshal(data)
	id := fmt.Sprintf("e%d", t.n)
	t.history.Events = append(t.history.Events, Event{ID: id, Type: typ, At: monday.Add(after), Customer: customer, Data: raw, Cause: cause})
	return id
}

func (t *madeUp) opens(after time.Duration, customer string) {
	if t.open[customer] == "" {
		t.open[customer] = fmt.Sprintf("case-%d", t.n)
		t.raise(after, "attendance.opened", customer, "", map[string]any{"attendance": t.attendance(after, customer, "open")})
	}
}

func (t *madeUp) attendance(after time.Duration, customer, status string) map[string]any {
	return map[string]any{"id": t.open[customer], "status": status, "conversation_id": "talk-" + customer, "opened_at": monday.Add(after), "first_response_at": nil}
}

// says lets a customer write, and returns the id of the message's event.
func (t *madeUp) says(after time.Duration, customer, text string) string {
	t.opens(after, customer)
	id := t.raise(after, "message.received", customer, "", map[string]any{"message": map[string]any{"text": text, "direction": "inbound"}})
	t.raise(after, "conversation.updated", customer, "", map[string]any{})
	return id
}

func (t *madeUp) replies(after time.Duration, customer string) {
	t.opens(after, customer)
	t.raise(after, "message.sent", customer, "", map[string]any{"message": map[string]any{"text": "hello", "direction": "outbound"}})
}

func (t *madeUp) closes(after time.Duration, customer string) {
	t.raise(after, "attendance.closed", customer, "", map[string]any{"attendance": t.attendance(after, customer, "closed")})
	t.open[customer] = ""
}

func (t *madeUp) card(after time.Duration, typ, customer, id, board, stage string) {
	t.raise(after, typ, customer, "", map[string]any{"card": map[string]any{"id": id, "board_id": board, "stage_id": stage, "status": "open", "conversation_id": "talk-" + customer}})
}

// expect compares what the rules must do with what they should.
func (t *madeUp) expect(tt *testing.T, s *Scenario, want ...string) {
	tt.Helper()
	s.Start, s.Seed = monday, 1
	if s.Length == 0 {
		s.Length = 48 * time.Hour
	}
	s.Customers = []string{"Ada", "Ben"}
	for i := range s.Rules {
		number := 0
		nameSteps(s.Rules[i].Do, &number)
		nameSteps(s.Rules[i].OnError, &number)
	}
	var got []string
	for _, e := range Expect(s, &t.history) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.At.Sub(monday), e.Customer, e.Verb, e.Detail)))
	}
	if !slices.Equal(got, want) {
		tt.Errorf("expected\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// nameSteps gives steps their names.
func nameSteps(steps []Step, n *int) {
	for i := range steps {
		*n++
		steps[i].Name = fmt.Sprintf("s%d", *n)
		nameSteps(steps[i].Do, n)
		for _, b := range steps[i].Branches {
			nameSteps(b.Do, n)
		}
	}
}

func hearing(events ...string) When          { return When{Events: events} }
func writes(text string) Step                { return Step{Verb: "send_message", Text: text} }
func waiting(d time.Duration) Step           { return Step{Verb: "wait", Wait: d} }
func labelled(verb string, l ...string) Step { return Step{Verb: verb, Labels: l} }
func onlyIf(s Step, c Cond) Step             { s.If = &c; return s }
func ruled(r ...Rule) *Scenario              { return &Scenario{Rules: r} }
func asking(d time.Duration, ev ...string) Step {
	return Step{Verb: "wait_for", ID: "answer1", Events: ev, Wait: d}
}

func TestReferenceAnswersAMessage(t *testing.T) {
	d := newMadeUp()
	first := d.says(0, "Ada", "An invoice, please!")
	d.says(time.Minute, "Ada", "invoices")
	s := ruled(Rule{ID: "r1", When: hearing("message.received"), If: []Cond{{Kind: CondSays, Text: "invoice"}}, Do: []Step{writes("{{ contact.name }}")}})
	d.expect(t, s, "0s Ada send_message r1/s1 Ada")
	if got := Expect(s, &d.history)[0].Event; got != first {
		t.Errorf("of the event %s, want %s", got, first)
	}
}

func TestReferenceStages(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "hello")
	for _, stage := range []string{"draft", "shadow"} {
		d.expect(t, ruled(Rule{ID: "r1", Stage: stage, When: hearing("message.received"), Do: []Step{writes("")}}))
	}
}

func TestReferenceModes(t *testing.T) {
	for mode, want := range map[string][]string{
		"queued":   {"0s Ada send_message r1/s1", "10m0s Ada send_message r1/s3", "10m0s Ada send_message r1/s1", "20m0s Ada send_message r1/s3"},
		"single":   {"0s Ada send_message r1/s1", "10m0s Ada send_message r1/s3"},
		"restart":  {"0s Ada send_message r1/s1", "4m0s Ada send_message r1/s1", "14m0s Ada send_message r1/s3"},
		"parallel": {"0s Ada send_message r1/s1", "4m0s Ada send_message r1/s1", "10m0s Ada send_message r1/s3", "14m0s Ada send_message r1/s3"},
	} {
		t.Run(mode, func(t *testing.T) {
			d := newMadeUp()
			d.says(0, "Ada", "1")
			d.says(4*time.Minute, "Ada", "2")
			d.expect(t, ruled(Rule{ID: "r1", Mode: mode, When: hearing("message.received"), Do: []Step{writes(""), waiting(10 * time.Minute), writes("")}}), want...)
		})
	}
}

func TestReferenceCountsAFirstWaitFromTheEvent(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "1")
	d.says(4*time.Minute, "Ada", "2")
	d.expect(t, ruled(Rule{ID: "r1", When: hearing("message.received"), Do: []Step{waiting(10 * time.Minute), writes("")}}), "10m0s Ada send_message r1/s2", "14m0s Ada send_message r1/s2")
}

func TestReferenceMaxAndLimit(t *testing.T) {
	d := newMadeUp()
	for i := range 4 {
		d.says(time.Duration(i)*20*time.Minute, "Ada", "1")
	}
	d.expect(t, ruled(Rule{ID: "r1", When: hearing("message.received"), Limit: &Limit{Times: 2, Per: time.Hour}, Do: []Step{writes("")}}),
		"0s Ada send_message r1/s1", "20m0s Ada send_message r1/s1", "1h0m0s Ada send_message r1/s1")
	d.expect(t, ruled(Rule{ID: "r1", Mode: "parallel", Max: 2, When: hearing("message.received"), Do: []Step{writes(""), waiting(50 * time.Minute)}}),
		"0s Ada send_message r1/s1", "20m0s Ada send_message r1/s1", "1h0m0s Ada send_message r1/s1")
}

func TestReferenceGathers(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "1")
	d.says(10*time.Second, "Ada", "invoice")
	d.says(25*time.Second, "Ada", "3")
	d.says(5*time.Minute, "Ada", "invoice")
	d.expect(t, ruled(Rule{
		ID: "r1", When: hearing("message.received"), Gather: &Gather{Quiet: 20 * time.Second, AtMost: time.Minute},
		If: []Cond{{Kind: CondSays, Text: "invoice"}, {Kind: CondMany, N: 3}}, Do: []Step{writes("")},
	}), "45s Ada send_message r1/s1")
}

func TestReferenceStartsNoRuleByItsOwnEffects(t *testing.T) {
	d := newMadeUp()
	id := d.says(0, "Ada", "1")
	own := d.raise(0, "message.sent", "Ada", "desk/r1/"+id+"/1", map[string]any{"message": map[string]any{"text": "r1/s1", "direction": "outbound"}})
	d.raise(0, "message.sent", "Ada", "desk/r2/"+own+"/1", map[string]any{"message": map[string]any{"text": "r2/s1", "direction": "outbound"}})
	both := hearing("message.received", "message.sent")
	d.expect(t, ruled(
		Rule{ID: "r1", When: both, FromAny: true, Do: []Step{writes("")}},
		Rule{ID: "r2", When: hearing("message.sent"), FromAny: true, Do: []Step{writes("")}},
		Rule{ID: "r3", When: hearing("message.sent"), Do: []Step{writes("")}},
	), "0s Ada send_message r1/s1", "0s Ada send_message r2/s1")
}

func TestReferenceWaitsInOpeningHours(t *testing.T) {
	d := newMadeUp()
	d.says(8*time.Hour+50*time.Minute, "Ada", "hello") // ten to six
	d.expect(t, ruled(
		Rule{ID: "r1", When: hearing("message.received"), Do: []Step{{Verb: "wait", Wait: 15 * time.Minute, Calendar: "office"}, onlyIf(writes("open"), Cond{Kind: CondOpen, Text: "office"})}},
		Rule{ID: "r2", When: hearing("message.received"), Do: []Step{{Verb: "wait", Until: "night"}, onlyIf(writes("night"), Cond{Kind: CondOpen, Text: "office", Not: true})}},
	), "13h0m0s Ada send_message r2/s2 night", "23h5m0s Ada send_message r1/s2 open")
}

func TestReferenceTakesWhatCameAfterTheQuestionForAnAnswer(t *testing.T) {
	rule := Rule{ID: "r1", When: hearing("attendance.opened"), Do: []Step{
		writes("?"), asking(5*time.Minute, "message.received"),
		{Verb: "choose", Branches: []Branch{{If: &Cond{Kind: CondNoAnswer, Text: "answer1"}, Do: []Step{writes("none")}}, {If: &Cond{Kind: CondAnswerIs, Text: "answer1=1"}, Do: []Step{writes("one")}}, {Do: []Step{writes("other")}}}},
	}}
	for want, says := range map[string]struct {
		after time.Duration
		text  string
	}{"5m0s Ada send_message r1/s4 none": {6 * time.Minute, "1"}, "1m0s Ada send_message r1/s5 one": {time.Minute, "1"}, "2m0s Ada send_message r1/s6 other": {2 * time.Minute, "2"}} {
		d := newMadeUp()
		d.says(0, "Ada", "hello") // in the same instant as the question, and before it
		d.says(says.after, "Ada", says.text)
		d.expect(t, ruled(rule), "0s Ada send_message r1/s1 ?", want)
	}
}

func TestReferenceEndsRuns(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "hello")
	d.says(0, "Ben", "hello")
	d.replies(time.Minute, "Ada")
	d.expect(t, ruled(Rule{
		ID: "r1", When: hearing("message.received"), CancelOn: []Match{{Event: "message.sent", If: &Cond{Kind: CondByTeam}}}, Do: []Step{waiting(10 * time.Minute), writes("")},
	}), "10m0s Ben send_message r1/s2")
}

func TestReferenceDoesNothingThatIsSoAlready(t *testing.T) {
	d := newMadeUp()
	d.labels["Ada"] = []string{"billing"}
	d.says(0, "Ada", "hello")
	d.expect(t, ruled(Rule{ID: "r1", When: hearing("message.received"), Do: []Step{
		labelled("add_labels", "vip", "billing"), labelled("add_labels", "vip"), labelled("remove_labels", "sla-breach"), labelled("set_labels", "vip"), labelled("set_labels", "after-hours"),
		{Verb: "set_sector", Sector: "Sales"}, {Verb: "transfer", Sector: "Sales"}, {Verb: "transfer", Person: "Ana"}, {Verb: "mark_read"}, {Verb: "mark_read"},
		{Verb: "close_attendance"}, {Verb: "close_attendance"},
	}}), "0s Ada add_labels vip", "0s Ada remove_labels billing", "0s Ada set_labels after-hours instead of vip", "0s Ada set_sector Sales", "0s Ada transfer r1/s8: Ana", "0s Ada mark_read",
		"0s Ada close_attendance r1/s11")
}

func TestReferenceFactsAreFreshAfterAWaitOrACall(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "hello")
	vip := Cond{Kind: CondHasLabel, Text: "vip"}
	d.expect(t, ruled(Rule{ID: "r1", When: hearing("message.received"), Do: []Step{
		labelled("add_labels", "vip"), onlyIf(writes("labelled"), vip), onlyIf(waiting(time.Hour), vip), {Verb: "read_conversation"}, onlyIf(writes("read"), vip),
	}}, Rule{ID: "r2", When: hearing("message.received"), Do: []Step{onlyIf(writes("too early"), vip), waiting(time.Second), onlyIf(writes("waited"), vip)}}),
		"0s Ada add_labels vip", "0s Ada send_message r1/s2 labelled", "1s Ada send_message r2/s3 waited", "1h0m0s Ada send_message r1/s5 read")
}

func TestReferenceCards(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "hello")
	d.card(time.Minute, "kanban.card.created", "Ada", "c1", "Deals", "New")
	d.card(2*time.Minute, "kanban.card.created", "Ada", "c2", "Care", "Open")
	find := func(board string) Step { return Step{Verb: "find_card", Board: board} }
	move := func(to, from string) Step { return Step{Verb: "move_card", Stage: to, OnlyFrom: from} }
	failed := func() []Step { return []Step{writes("failed")} }
	d.expect(t, ruled(
		Rule{ID: "r1", When: hearing("kanban.card.*"), If: []Cond{{Kind: CondStage, Text: "New"}}, Do: []Step{move("New", ""), move("Won", "Proposal"), move("Proposal", "New"), move("Won", "Proposal")}},
		Rule{ID: "r2", When: hearing("kanban.card.created"), If: []Cond{{Kind: CondStage, Text: "Open"}}, Do: []Step{find("Deals"), {Verb: "update_card", Name2: "x"}, move("Closed", "")}, OnError: failed()},
		Rule{ID: "r3", When: hearing("kanban.card.created"), If: []Cond{{Kind: CondStage, Text: "New"}}, Do: []Step{find("Care"), move("Closed", "")}, OnError: failed()},
		Rule{ID: "r4", When: hearing("message.received"), Do: []Step{find("Deals"), {Verb: "move_card", Stage: "Won", Continue: true}, {Verb: "create_card", Board: "Deals", Text: "new"}, move("Won", "")}},
	), "0s Ada create_card r4/s3 new: New", "0s Ada move_card New to Won",
		"1m0s Ada move_card New to Proposal", "1m0s Ada move_card Proposal to Won",
		"2m0s Ada update_card r2/s2 x", "2m0s Ada send_message r2/s4 failed")
}

func TestReferenceWritesToOthers(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "hello")
	s := ruled(Rule{ID: "r1", When: hearing("message.received"), Do: []Step{{Verb: "send_message", To: "Ben", Text: "psst"}, writes("back"), {Verb: "open_conversation", To: "Ben"}}})
	d.expect(t, s, "0s Ben open_conversation", "0s Ben send_message r1/s1 psst", "0s Ada send_message r1/s2 back")
}

func TestReferenceStops(t *testing.T) {
	at := func(d time.Duration) time.Time { return monday.Add(d) }
	d := newMadeUp()
	d.says(0, "Ada", "1")
	d.says(10*time.Minute, "Ada", "2")
	d.says(35*time.Minute, "Ada", "3")
	rule := Rule{ID: "r1", Mode: "parallel", When: hearing("message.received"), Do: []Step{writes(""), waiting(8 * time.Minute), writes("")}}
	d.history.Stops = []Stop{{Rule: "r1", From: at(5 * time.Minute), To: at(20 * time.Minute)}}
	d.expect(t, ruled(rule), "0s Ada send_message r1/s1", "20m0s Ada send_message r1/s3", "35m0s Ada send_message r1/s1", "43m0s Ada send_message r1/s3")

	// Where everything is stopped events are decided on afterwards, unless it is too late for them.
	d.history.Stops = []Stop{{From: at(5 * time.Minute), To: at(45 * time.Minute)}}
	d.expect(t, ruled(rule), "0s Ada send_message r1/s1", "45m0s Ada send_message r1/s1", "45m0s Ada send_message r1/s3", "53m0s Ada send_message r1/s3")
}

func TestReferenceSafetyBounds(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "1")
	d.says(time.Hour, "Ada", "2")
	s := ruled(Rule{ID: "r1", When: hearing("message.received"), Do: []Step{writes("1"), writes("2"), writes("3")}}, Rule{ID: "r2", When: hearing("message.received"), Do: []Step{waiting(30 * time.Minute), writes("")}})
	s.Safety.PerConversation = Bound{2, 10 * time.Minute}
	d.expect(t, s, "0s Ada send_message r1/s1 1", "0s Ada send_message r1/s2 2", "30m0s Ada send_message r2/s2", "1h30m0s Ada send_message r2/s2")
	d.history.Stops = []Stop{{Rule: "r1", From: monday.Add(70 * time.Minute), To: monday.Add(80 * time.Minute)}}
	d.expect(t, s, "0s Ada send_message r1/s1 1", "0s Ada send_message r1/s2 2", "30m0s Ada send_message r2/s2", "1h20m0s Ada send_message r1/s3 3", "1h30m0s Ada send_message r2/s2")
}

func TestReferenceSchedules(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "hello")
	d.says(0, "Ben", "hello")
	d.closes(10*time.Minute, "Ben")
	tick := func(rule string, after time.Duration) {
		d.history.Fired = append(d.history.Fired, Firing{Rule: rule, At: monday.Add(after)})
	}
	tick("r1", 5*time.Minute)
	tick("r1", 15*time.Minute)
	tick("r2", 15*time.Minute)
	d.history.Fired = append(d.history.Fired, Firing{Rule: "r3", At: monday.Add(16 * time.Minute), Customer: "Ben"})
	s := ruled(
		Rule{ID: "r1", When: When{Every: 10 * time.Minute, Each: "attendances"}, Do: []Step{writes("")}},
		Rule{ID: "r2", When: When{Every: time.Hour}, Do: []Step{{Verb: "send_message", To: "Ada"}}},
		Rule{ID: "r3", When: When{Manual: true}, Do: []Step{writes("")}},
	)
	d.expect(t, s, "5m0s Ada send_message r1/s1", "5m0s Ben send_message r1/s1", "15m0s Ada send_message r1/s1", "15m0s Ada send_message r2/s1", "16m0s Ben send_message r3/s1")

	// Of the ticks that came while everything was stopped the last counts, all, or none.
	for run, want := range map[string]int{"": 1, "last": 1, "all": 2, "none": 0} {
		d.history.Stops = []Stop{{From: monday.Add(time.Minute), To: monday.Add(30 * time.Minute)}}
		s.Rules = s.Rules[:1]
		s.Rules[0].Late.Run = run
		if got := len(Expect(s, &d.history)); got != want {
			t.Errorf("run: %q: %d messages, want %d", run, got, want)
		}
	}
}

func TestReferenceReloads(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "1")
	d.says(10*time.Minute, "Ada", "2")
	s := ruled(Rule{ID: "r1", When: hearing("message.received"), Do: []Step{waiting(20 * time.Minute), writes("old")}})
	s.Other = []Rule{{ID: "r1", Mode: "parallel", When: hearing("message.received"), Do: []Step{{Name: "s1", Verb: "send_message", Text: "new"}}}}
	s.Story = []Act{{At: 5 * time.Minute, Kind: ActReloads}}
	d.expect(t, s, "10m0s Ada send_message r1/s1 new", "20m0s Ada send_message r1/s2 old")
}

func TestReferenceClosesNoOtherAttendance(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "1")
	d.closes(5*time.Minute, "Ada")
	d.says(10*time.Minute, "Ada", "2")
	d.expect(t, ruled(Rule{ID: "r1", Mode: "single", When: hearing("message.received"), Do: []Step{waiting(20 * time.Minute), {Verb: "close_attendance"}, writes("")}}), "20m0s Ada send_message r1/s3")
}

func TestReferenceCalendars(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	when := func(text string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for text, open := range map[string][2]bool{ // of office, and of night
		"2026-11-13 07:59": {false, false}, "2026-11-13 08:00": {true, false}, "2026-11-13 12:00": {false, false}, "2026-11-13 17:59": {true, false}, "2026-11-14 12:59": {true, false},
		"2026-11-15 10:00": {false, false}, "2026-11-20 10:00": {false, false}, "2026-11-20 22:00": {false, true}, "2026-11-21 05:59": {false, true}, "2026-11-21 06:00": {false, false},
	} {
		if got := [2]bool{isOpen("office", when(text), zone), isOpen("night", when(text), zone)}; got != open {
			t.Errorf("%s: open %v, want %v", text, got, open)
		}
	}
	if got, want := openingTime("office", when("2026-11-19 17:50"), 15*time.Minute, zone), when("2026-11-21 09:05"); !got.Equal(want) {
		t.Errorf("over a holiday: %s, want %s", got, want)
	}
	if got, want := nextOpening("office", when("2026-11-13 09:00"), zone), when("2026-11-13 13:30"); !got.Equal(want) {
		t.Errorf("while it is open: %s, want %s", got, want)
	}
	if got, want := openBetween("office", when("2026-11-13 11:50"), when("2026-11-14 09:05"), zone), 4*time.Hour+45*time.Minute; got != want {
		t.Errorf("over lunch and a night: %s, want %s", got, want)
	}
}

// An answer that comes exactly when the wait ends is one, also if so much happens at that instant
// that the run would come first.
func TestReferenceHearsWhatCameInTime(t *testing.T) {
	d := newMadeUp()
	d.says(0, "Ada", "go")
	d.says(10*time.Second, "Ada", "1")
	for range 3 {
		d.replies(10*time.Second, "Ada")
	}
	d.expect(t, ruled(Rule{ID: "r1", Mode: "single", When: hearing("message.received"), Do: []Step{
		asking(10*time.Second, "message.received"), onlyIf(writes("heard"), Cond{Kind: CondAnswerIs, Text: "answer1=1"}),
	}}), "10s Ada send_message r1/s2 heard")
}

func claiming(s Step) Step { s.Claims = true; return s }

// An answer, and what it caused, starts no other rule, but those that take it all the same.
func TestReferenceClaims(t *testing.T) {
	answer := Cond{Kind: CondTextIs, Text: "1"}
	asks := Rule{ID: "r1", When: hearing("attendance.closed"), Do: []Step{claiming(asking(20*time.Minute, "message.received")), onlyIf(writes("thanks"), Cond{Kind: CondNoAnswer, Not: true, Text: "answer1"})}}
	asks.Do[0].Cond = &answer
	on := func(id, event string) Rule {
		return Rule{ID: id, Mode: "parallel", When: hearing(event), Do: []Step{writes("")}}
	}
	s := ruled(asks, on("r2", "message.received"), on("r3", "attendance.opened"), on("r4", "conversation.updated"))
	d := newMadeUp()
	d.opens(0, "Ada")
	d.closes(time.Minute, "Ada")
	d.says(2*time.Minute, "Ada", "1")
	thanks := "2m0s Ada send_message r1/s2 thanks"
	d.expect(t, s, "0s Ada send_message r3/s1", thanks)

	s.Rules[2].Claimed = true
	d.expect(t, s, "0s Ada send_message r3/s1", "2m0s Ada send_message r3/s1", thanks)

	for _, change := range []func(*Rule){
		func(r *Rule) { r.Do[0].Claims = false },
		func(r *Rule) { r.Stage = "shadow" },
		func(r *Rule) { r.Do[0].Cond = &Cond{Kind: CondTextIs, Text: "2"} },
		func(r *Rule) { r.CancelOn = []Match{{Event: "message.received"}} },
	} {
		s.Rules = cloneRules(s.Rules)
		s.Rules[0] = cloneRules([]Rule{asks})[0]
		change(&s.Rules[0])
		all := []string{"0s Ada send_message r3/s1", "2m0s Ada send_message r3/s1", "2m0s Ada send_message r2/s1", "2m0s Ada send_message r4/s1"}
		if r := &s.Rules[0]; !r.Do[0].Claims {
			all = append(all, thanks)
		}
		d.expect(t, s, all...)
	}

	// What the customer writes next is no answer, and what a rule or a person does was not caused by
	// one.
	s = ruled(asks, on("r2", "message.received"), on("r5", "kanban.card.created"))
	s.Rules[2].FromAny = true
	d.says(2*time.Minute, "Ada", "1")
	d.card(3*time.Minute, "kanban.card.created", "Ada", "c1", "Deals", "New")
	d.expect(t, s, "2m0s Ada send_message r2/s1", thanks, "3m0s Ada send_message r5/s1")
}

// Every customer is in exactly one part of a group.
func TestReferenceSplits(t *testing.T) {
	d := newMadeUp()
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("C%d", i))
		d.says(0, names[i], "hello")
	}
	part := func(id string, share int) Rule {
		return Rule{ID: id, Sample: share, Split: "group", When: hearing("message.received"), Do: []Step{writes("")}}
	}
	s := ruled(part("r1", 30), part("r2", 0), part("r3", 30))
	s.Start, s.Length, s.Customers = monday, time.Hour, names
	times, parts := map[string]int{}, map[string]int{}
	for _, e := range Expect(s, &d.history) {
		times[e.Customer]++
		parts[e.Detail[:2]]++
	}
	for _, name := range names {
		if times[name] != 1 {
			t.Errorf("%s is in %d parts", name, times[name])
		}
	}
	for _, r := range s.Rules {
		if n := parts[r.ID]; n < 5 || n > 25 {
			t.Errorf("%s has %d of 40", r.ID, n)
		}
	}
}
