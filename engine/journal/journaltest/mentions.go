package journaltest

import (
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var mentionTests = []test{
	{"conversations are found by name, phone and protocol", mentionsFound},
	{"a rare word is found among common ones", mentionsRare},
	{"it is told who a conversation is about", mentionsWho},
	{"mentions follow the events in parts", mentionsFollow},
	{"who looks does not wait for others to follow", mentionsLook},
	{"mentions go on after a crash", mentionsCrash},
	{"mentions are forgotten with the rest", mentionsPrune},
	{"an old name is forgotten although the conversation goes on", mentionsOld},
	{"who was forgotten is known again when heard of", mentionsAgain},
	{"a command beside the engine finds what is taken up", mentionsBeside},
}

// acceptMention records an event of a conversation with mentions, after a while.
func (c *check) acceptMention(after time.Duration, lane, name, phone, protocol string) {
	c.Helper()
	e := mentionEvent(lane, name, phone, protocol)
	e.ReceivedAt = at(after)
	c.accept(e)
}

func mentionEvent(lane, name, phone, protocol string) rules.Event {
	e := event(fmt.Sprint("event ", serial()), lane)
	e.Data = map[string]any{
		"contact":    map[string]any{"name": name, "phone": phone},
		"attendance": map[string]any{"protocol": protocol, "conversation": map[string]any{"contact": map[string]any{"name": name}}},
	}
	return e
}

// followAndFind returns the lanes that a search finds after all mentions are indexed.
func (c *check) followAndFind(text string) []string {
	c.Helper()
	c.follow()
	return c.findLanes(text)
}

// findLanes returns the lanes that a search finds.
func (c *check) findLanes(text string) []string {
	c.Helper()
	lanes := []string{}
	list, err := c.statistics().FindLanes(c.Context(), text, 5000)
	c.ok(err)
	for _, w := range list {
		lanes = append(lanes, w.Lane)
	}
	return lanes
}

// follow indexes all mentions, and returns in how many batches.
func (c *check) follow() (batches int) {
	c.Helper()
	for more := true; more; batches++ {
		var err error
		more, err = c.statistics().Follow(c.Context())
		c.ok(err)
	}
	return batches
}

func mentionsFound(c *check) {
	c.acceptMention(0, "1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	c.acceptMention(0, "1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	c.acceptMention(0, "2", "João Silvério", "+55 21 3333-4444", "AT-000124")
	c.acceptMention(0, "3", "Old Name", "", "")
	c.acceptMention(day, "3", "New Name", "", "")
	c.acceptMention(0, "4", "", "", "---")
	for _, one := range []struct {
		text string
		want []string
	}{
		{"jose", []string{"1"}}, {"SILV", []string{"1", "2"}}, {"silva maria", []string{"1"}}, {"silva joao", []string{}}, {"joão", []string{"2"}},
		{"(11) 8888-7777", []string{"1"}}, {"1198888777", []string{}}, {"11 98888 7777", []string{"1"}}, {"4444", []string{"2"}},
		{"at-000124", []string{"2"}}, {"123", []string{"1"}}, {"at 0001", []string{"1", "2"}}, {"000", []string{}},
		{"new", []string{"3"}}, {"old", []string{"3"}}, {"old new", []string{}}, {"name", []string{"3"}}, {"", []string{}}, {"%", []string{}}, {"nobody", []string{}},
	} {
		c.equal(fmt.Sprintf("found by %q", one.text), c.followAndFind(one.text), one.want)
	}
	c.acceptMention(0, "5", "Ana", "+55 11 91234-2026", "2026-1")
	c.acceptMention(0, "6", "Bia", "+55 11 91234-5678", "2026-10")
	c.acceptMention(0, "7", "Caio", "+55 11 99920-2610", "2026-11")
	c.equal("a whole protocol number", c.followAndFind("2026-1"), []string{"5"})
	c.equal("another one, and whose phone ends so", c.followAndFind("2026-10"), []string{"6"})
	c.equal("the beginning of some", c.followAndFind("2026-"), []string{"5", "6", "7"})
	c.equal("by the end of the phone", c.followAndFind("5678"), []string{"6"})
	c.acceptMention(0, "8", "Davi", "", "AT-5678")
	c.equal("by the end of a phone, and by a protocol number", c.followAndFind("5678"), []string{"6", "8"})
	c.acceptMention(2*day, "2", "João Silvério", "", "")
	c.equal("the newest first", c.followAndFind("silv"), []string{"2", "1"})
	one, err := c.statistics().FindLanes(c.Context(), "silv", 1)
	c.ok(err)
	c.equal("a bounded list", len(one), 1)
}

// mentionsRare has more people of a name than a search checks.
func mentionsRare(c *check) {
	const many = 3000
	var events []rules.Event
	for i := range many {
		events = append(events, mentionEvent(fmt.Sprintf("%04d", i), fmt.Sprintf("Customer%04d Silveira", i), "", ""))
	}
	events[many/30].Data["contact"] = map[string]any{"name": "João Silveira"}
	c.accept(events...)
	for _, text := range []string{"joao silveira", "silveira joao"} {
		c.equal(text, c.followAndFind(text), []string{fmt.Sprintf("%04d", many/30)})
	}
	c.acceptMention(0, "whole", "Custom", "", "")
	c.equal("a whole word among beginnings", slices.Contains(c.followAndFind("custom"), "whole"), true)
	c.equal("the newest of a word", slices.Contains(c.followAndFind("silveira"), fmt.Sprintf("%04d", many-1)), true)
}

func mentionsWho(c *check) {
	who := func(lanes ...string) map[string]journal.Who {
		c.Helper()
		c.follow()
		w, err := c.statistics().Who(c.Context(), ws, lanes)
		c.ok(err)
		return w
	}
	c.acceptMention(0, "1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	c.acceptMention(0, "3", "Old Name", "123456", "")
	c.acceptMention(day, "3", "New Name", "", "")
	c.acceptMention(0, "3", "", "", "AT-1") // with a clock that was set back
	c.equal("who", who("1", "3", "9"), map[string]journal.Who{
		"1": {Workspace: ws, Lane: "1", Name: "Maria José da Silva", Phone: "+55 11 98888-7777", Protocol: "AT-000123", Seen: at(-12 * time.Hour)},
		"3": {Workspace: ws, Lane: "3", Name: "New Name", Phone: "123456", Protocol: "AT-1", Seen: at(12 * time.Hour)},
	})
	c.acceptMention(day, "3", "Old Name", "", "")
	c.equal("a name that comes back", who("3")["3"].Name, "Old Name")
	c.acceptMention(day, "5", "Somebody", "", "")
	c.acceptMention(0, "5", "Somebody", "", "")
	c.equal("last seen by a clock that was set back", who("5")["5"].Seen, at(12*time.Hour))
	other := mentionEvent("1", "Somebody", "", "")
	other.Workspace = "other"
	c.accept(other)
	c.equal("a lane of another workspace", who("1")["1"].Name, "Maria José da Silva")
	c.equal("nobody", who(), map[string]journal.Who{})

	// The contact's own name counts.
	named := event("named", "4")
	named.Data = map[string]any{"conversation": map[string]any{"name": "A conversation"}, "contact": map[string]any{"name": "A contact"}}
	named.Data["attendance"] = map[string]any{"conversation": named.Data["conversation"]}
	c.accept(named)
	c.equal("a contact", who("4")["4"].Name, "A contact")
	c.equal("the other name", c.followAndFind("conversation"), []string{"4"})
}

// mentionsFollow has so many events that a search does not wait for all of them.
func mentionsFollow(c *check) {
	const many = 5000
	var events []rules.Event
	for i := range many {
		events = append(events, mentionEvent(fmt.Sprint(i), fmt.Sprintf("Customer%d", i), fmt.Sprintf("%08d", i), ""))
	}
	c.accept(events...)
	last := fmt.Sprint("customer", many-1)
	c.equal("the last at once", c.findLanes(last), []string{})
	// Other databases of the same server may have open transactions, for which Follow waits; a search
	// that was cancelled may hold the lock until the server has noticed.
	parts := c.follow()
	for began := time.Now(); len(c.findLanes(last)) == 0 && time.Since(began) < 30*time.Second; {
		time.Sleep(10 * time.Millisecond)
		parts = max(parts, c.follow())
	}
	if parts < 2 {
		c.Errorf("%d events were taken up in %d parts", many, parts)
	}
	c.equal("the last", c.followAndFind(last), []string{fmt.Sprint(many - 1)})
	c.equal("parts when there is nothing", c.follow(), 1)
}

// mentionsLook searches without following. The time that a search spends on following is bounded,
// so that on a slow machine the first search may find nothing.
func mentionsLook(c *check) {
	for i, search := range []func(name string) bool{
		func(name string) bool { return len(c.findLanes(name)) == 1 },
		func(name string) bool {
			who, err := c.statistics().Who(c.Context(), ws, []string{"1"})
			c.ok(err)
			return who["1"].Name == name
		},
	} {
		name := fmt.Sprint("Maria", i)
		c.acceptMention(0, "1", name, "", "")
		for tries := 0; !search(name); tries++ {
			if tries == 100 {
				c.Fatalf("%s is not found", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func mentionsCrash(c *check) {
	c.acceptMention(0, "1", "Maria", "", "")
	c.equal("before", c.followAndFind("maria"), []string{"1"})
	c.acceptMention(0, "2", "João", "", "")
	n := &check{T: c.T, Setup: c.Setup, Journal: c.Crash(c.T, c.Journal)}
	n.acceptMention(0, "1", "", "", "AT-1")
	n.equal("a name of before", n.followAndFind("maria"), []string{"1"})
	n.equal("a name that nobody had taken up", n.followAndFind("joao"), []string{"2"})
	n.equal("a number of after", n.followAndFind("at-1"), []string{"1"})
	who, err := n.statistics().Who(n.Context(), ws, []string{"1"})
	n.ok(err)
	n.equal("who", []string{who["1"].Name, who["1"].Protocol}, []string{"Maria", "AT-1"})
}

func mentionsPrune(c *check) {
	const many = 700
	var events []rules.Event
	for i := range many {
		e := mentionEvent(fmt.Sprint(i), fmt.Sprintf("Customer%d", i), "", "")
		if i%2 == 1 {
			e.ReceivedAt = at(2 * day)
		}
		events = append(events, e)
	}
	c.accept(events...)
	c.follow()
	c.acceptMention(2*day, "0", "Customer0", "", "") // a customer that is mentioned again stays
	c.follow()
	c.pruneAll(at(keep - 4*time.Hour))
	c.equal("within their time", len(c.followAndFind("customer")), many)
	c.pruneAll(at(keep + 2*day))
	c.equal("after it", len(c.followAndFind("customer")), many/2+1)
}

func mentionsAgain(c *check) {
	c.acceptMention(0, "1", "Maria", "", "")
	c.equal("at first", c.followAndFind("maria"), []string{"1"})
	c.pruneAll(at(keep + 2*day))
	c.equal("forgotten", c.followAndFind("maria"), []string{})
	c.acceptMention(keep+2*day, "1", "", "", "AT-1")
	c.equal("heard of", c.followAndFind("at-1"), []string{"1"})
	c.acceptMention(keep+2*day, "1", "Maria", "", "")
	c.equal("known again", c.followAndFind("maria"), []string{"1"})
}

// mentionsOld has a conversation that continues under another name.
func mentionsOld(c *check) {
	c.acceptMention(0, "1", "Maria Souza", "11111111", "AT-1")
	c.acceptMention(2*day, "1", "Maria Alves", "11111111", "")
	c.equal("at first", c.followAndFind("souza"), []string{"1"})
	c.pruneAll(at(keep + 30*time.Hour))
	c.equal("the old name", c.followAndFind("souza"), []string{})
	c.equal("the old number", c.followAndFind("AT-1"), []string{})
	for _, text := range []string{"alves", "maria", "11111111"} {
		c.equal(text, c.followAndFind(text), []string{"1"})
	}
}

func mentionsBeside(c *check) {
	if c.Beside == nil {
		c.Skip("there is nothing beside this journal")
	}
	c.acceptMention(0, "1", "Maria", "", "")
	c.follow()
	c.acceptMention(0, "2", "João", "", "")
	b := &check{T: c.T, Setup: c.Setup, Journal: c.Beside(c.T, c.Journal)}
	b.equal("taken up", b.findLanes("maria"), []string{"1"})
	b.equal("not taken up", b.findLanes("joao"), []string{})
	if _, err := b.statistics().Follow(b.Context()); err == nil {
		b.Error("a command beside the engine follows")
	}
	c.equal("taken up by the engine", c.followAndFind("joao"), []string{"2"})
}
