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

// mentioning records an event of a conversation that mentions somebody, after a while.
func (c *check) mentioning(after time.Duration, lane, name, phone, protocol string) {
	c.Helper()
	e := mentioningEvent(lane, name, phone, protocol)
	e.ReceivedAt = at(after)
	c.accept(e)
}

func mentioningEvent(lane, name, phone, protocol string) rules.Event {
	e := event(fmt.Sprint("event ", serial()), lane)
	e.Data = map[string]any{
		"contact":    map[string]any{"name": name, "phone": phone},
		"attendance": map[string]any{"protocol": protocol, "conversation": map[string]any{"contact": map[string]any{"name": name}}},
	}
	return e
}

// found returns the lanes that are found by a text when all mentions are taken up.
func (c *check) found(text string) []string {
	c.Helper()
	c.follow()
	return c.finds(text)
}

// finds returns the lanes that are found by a text.
func (c *check) finds(text string) []string {
	c.Helper()
	lanes := []string{}
	list, err := c.sums().FindLanes(c.Context(), text, 5000)
	c.ok(err)
	for _, w := range list {
		lanes = append(lanes, w.Lane)
	}
	return lanes
}

// follow takes up all mentions, and returns in how many parts.
func (c *check) follow() (parts int) {
	c.Helper()
	for more := true; more; parts++ {
		var err error
		more, err = c.sums().Follow(c.Context())
		c.ok(err)
	}
	return parts
}

func mentionsFound(c *check) {
	c.mentioning(0, "1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	c.mentioning(0, "1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	c.mentioning(0, "2", "João Silvério", "+55 21 3333-4444", "AT-000124")
	c.mentioning(0, "3", "Old Name", "", "")
	c.mentioning(day, "3", "New Name", "", "")
	c.mentioning(0, "4", "", "", "---")
	for _, one := range []struct {
		text string
		want []string
	}{
		{"jose", []string{"1"}}, {"SILV", []string{"1", "2"}}, {"silva maria", []string{"1"}}, {"silva joao", []string{}}, {"joão", []string{"2"}},
		{"(11) 8888-7777", []string{"1"}}, {"1198888777", []string{}}, {"11 98888 7777", []string{"1"}}, {"4444", []string{"2"}},
		{"at-000124", []string{"2"}}, {"123", []string{"1"}}, {"at 0001", []string{"1", "2"}}, {"000", []string{}},
		{"new", []string{"3"}}, {"old", []string{"3"}}, {"old new", []string{}}, {"name", []string{"3"}}, {"", []string{}}, {"%", []string{}}, {"nobody", []string{}},
	} {
		c.equal(fmt.Sprintf("found by %q", one.text), c.found(one.text), one.want)
	}
	c.mentioning(2*day, "2", "João Silvério", "", "")
	c.equal("the newest first", c.found("silv"), []string{"2", "1"})
	one, err := c.sums().FindLanes(c.Context(), "silv", 1)
	c.ok(err)
	c.equal("a bounded list", len(one), 1)
}

// mentionsRare has more people of a name than a search looks at.
func mentionsRare(c *check) {
	const many = 3000
	var events []rules.Event
	for i := range many {
		events = append(events, mentioningEvent(fmt.Sprintf("%04d", i), fmt.Sprintf("Customer%04d Silveira", i), "", ""))
	}
	events[many/30].Data["contact"] = map[string]any{"name": "João Silveira"}
	c.accept(events...)
	for _, text := range []string{"joao silveira", "silveira joao"} {
		c.equal(text, c.found(text), []string{fmt.Sprintf("%04d", many/30)})
	}
	c.mentioning(0, "whole", "Custom", "", "")
	c.equal("a whole word among beginnings", slices.Contains(c.found("custom"), "whole"), true)
	c.equal("the newest of a word", slices.Contains(c.found("silveira"), fmt.Sprintf("%04d", many-1)), true)
}

func mentionsWho(c *check) {
	who := func(lanes ...string) map[string]journal.Who {
		c.Helper()
		c.follow()
		w, err := c.sums().Who(c.Context(), ws, lanes)
		c.ok(err)
		return w
	}
	c.mentioning(0, "1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	c.mentioning(0, "3", "Old Name", "123456", "")
	c.mentioning(day, "3", "New Name", "", "")
	c.mentioning(0, "3", "", "", "AT-1") // of a clock that was set back
	c.equal("who", who("1", "3", "9"), map[string]journal.Who{
		"1": {Workspace: ws, Lane: "1", Name: "Maria José da Silva", Phone: "+55 11 98888-7777", Protocol: "AT-000123", Seen: at(-12 * time.Hour)},
		"3": {Workspace: ws, Lane: "3", Name: "New Name", Phone: "123456", Protocol: "AT-1", Seen: at(12 * time.Hour)},
	})
	c.mentioning(day, "3", "Old Name", "", "")
	c.equal("a name that comes back", who("3")["3"].Name, "Old Name")
	c.mentioning(day, "5", "Somebody", "", "")
	c.mentioning(0, "5", "Somebody", "", "")
	c.equal("last seen by a clock that was set back", who("5")["5"].Seen, at(12*time.Hour))
	other := mentioningEvent("1", "Somebody", "", "")
	other.Workspace = "other"
	c.accept(other)
	c.equal("a lane of another workspace", who("1")["1"].Name, "Maria José da Silva")
	c.equal("nobody", who(), map[string]journal.Who{})

	// The contact's own name is the one that counts.
	named := event("named", "4")
	named.Data = map[string]any{"conversation": map[string]any{"name": "A conversation"}, "contact": map[string]any{"name": "A contact"}}
	named.Data["attendance"] = map[string]any{"conversation": named.Data["conversation"]}
	c.accept(named)
	c.equal("a contact", who("4")["4"].Name, "A contact")
	c.equal("the other name", c.found("conversation"), []string{"4"})
}

// mentionsFollow has so many events that somebody who looks does not wait for all of them.
func mentionsFollow(c *check) {
	const many = 5000
	var events []rules.Event
	for i := range many {
		events = append(events, mentioningEvent(fmt.Sprint(i), fmt.Sprintf("Customer%d", i), fmt.Sprintf("%08d", i), ""))
	}
	c.accept(events...)
	last := fmt.Sprint("customer", many-1)
	c.equal("the last at once", c.finds(last), []string{})
	// Other databases of the same server may have something under way, for which the following
	// waits; a look that was given up may hold the turn until the server has noticed.
	parts := c.follow()
	for began := time.Now(); len(c.finds(last)) == 0 && time.Since(began) < 30*time.Second; {
		time.Sleep(10 * time.Millisecond)
		parts = max(parts, c.follow())
	}
	if parts < 2 {
		c.Errorf("%d events were taken up in %d parts", many, parts)
	}
	c.equal("the last", c.found(last), []string{fmt.Sprint(many - 1)})
	c.equal("parts when there is nothing", c.follow(), 1)
}

// mentionsLook looks without following. How long a search waits for what it takes up is bounded, so
// that on a slow machine the first may find nothing.
func mentionsLook(c *check) {
	for i, look := range []func(name string) bool{
		func(name string) bool { return len(c.finds(name)) == 1 },
		func(name string) bool {
			who, err := c.sums().Who(c.Context(), ws, []string{"1"})
			c.ok(err)
			return who["1"].Name == name
		},
	} {
		name := fmt.Sprint("Maria", i)
		c.mentioning(0, "1", name, "", "")
		for tries := 0; !look(name); tries++ {
			if tries == 100 {
				c.Fatalf("%s is not found", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func mentionsCrash(c *check) {
	c.mentioning(0, "1", "Maria", "", "")
	c.equal("before", c.found("maria"), []string{"1"})
	c.mentioning(0, "2", "João", "", "")
	n := &check{T: c.T, Setup: c.Setup, Journal: c.Crash(c.T, c.Journal)}
	n.mentioning(0, "1", "", "", "AT-1")
	n.equal("a name of before", n.found("maria"), []string{"1"})
	n.equal("a name that nobody had taken up", n.found("joao"), []string{"2"})
	n.equal("a number of after", n.found("at-1"), []string{"1"})
	who, err := n.sums().Who(n.Context(), ws, []string{"1"})
	n.ok(err)
	n.equal("who", []string{who["1"].Name, who["1"].Protocol}, []string{"Maria", "AT-1"})
}

func mentionsPrune(c *check) {
	const many = 700
	var events []rules.Event
	for i := range many {
		e := mentioningEvent(fmt.Sprint(i), fmt.Sprintf("Customer%d", i), "", "")
		if i%2 == 1 {
			e.ReceivedAt = at(2 * day)
		}
		events = append(events, e)
	}
	c.accept(events...)
	c.follow()
	c.mentioning(2*day, "0", "Customer0", "", "") // who is heard of again stays
	c.follow()
	c.pruned(at(keep - 4*time.Hour))
	c.equal("within their time", len(c.found("customer")), many)
	c.pruned(at(keep + 2*day))
	c.equal("after it", len(c.found("customer")), many/2+1)
}

func mentionsAgain(c *check) {
	c.mentioning(0, "1", "Maria", "", "")
	c.equal("at first", c.found("maria"), []string{"1"})
	c.pruned(at(keep + 2*day))
	c.equal("forgotten", c.found("maria"), []string{})
	c.mentioning(keep+2*day, "1", "", "", "AT-1")
	c.equal("heard of", c.found("at-1"), []string{"1"})
	c.mentioning(keep+2*day, "1", "Maria", "", "")
	c.equal("known again", c.found("maria"), []string{"1"})
}

// mentionsOld has a conversation that goes on under another name.
func mentionsOld(c *check) {
	c.mentioning(0, "1", "Maria Souza", "11111111", "AT-1")
	c.mentioning(2*day, "1", "Maria Alves", "11111111", "")
	c.equal("at first", c.found("souza"), []string{"1"})
	c.pruned(at(keep + 30*time.Hour))
	c.equal("the old name", c.found("souza"), []string{})
	c.equal("the old number", c.found("AT-1"), []string{})
	for _, text := range []string{"alves", "maria", "11111111"} {
		c.equal(text, c.found(text), []string{"1"})
	}
}

func mentionsBeside(c *check) {
	if c.Beside == nil {
		c.Skip("there is nothing beside this journal")
	}
	c.mentioning(0, "1", "Maria", "", "")
	c.follow()
	c.mentioning(0, "2", "João", "", "")
	b := &check{T: c.T, Setup: c.Setup, Journal: c.Beside(c.T, c.Journal)}
	b.equal("taken up", b.finds("maria"), []string{"1"})
	b.equal("not taken up", b.finds("joao"), []string{})
	if _, err := b.sums().Follow(b.Context()); err == nil {
		b.Error("a command beside the engine follows")
	}
	c.equal("taken up by the engine", c.found("joao"), []string{"2"})
}
