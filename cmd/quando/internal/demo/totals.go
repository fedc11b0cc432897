package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/vocabulary"
)

// totals sum up a demo.
type totals struct {
	customers, events, runs                  int
	messages, transfers, labels, made, moved int
	outcomes                                 map[journal.State]int // of runs that have ended
}

// add counts what a verb did.
func (t *totals) add(verb vocabulary.Verb) {
	switch verb {
	case vocabulary.SendMessage:
		t.messages++
	case vocabulary.Transfer, vocabulary.SetSector:
		t.transfers++
	case vocabulary.AddLabels, vocabulary.RemoveLabels, vocabulary.SetLabels:
		t.labels++
	case vocabulary.CreateCard:
		t.made++
	case vocabulary.MoveCard:
		t.moved++
	}
}

// count prints the totals.
func (t *narrator) count(at time.Time) {
	t.counted = at
	n, c := &t.totals, t.colour
	of := func(list ...string) string { return strings.Join(list, c.Dim(" · ")) }
	many := func(words string, n int) string { return words + " " + c.Bold(fmt.Sprint(n)) }
	failed := n.outcomes[journal.FailedRun]
	failures := c.Green("0 failed")
	if failed > 0 {
		failures = c.Red(fmt.Sprintf("%d failed", failed))
	}
	t.print("")
	t.print(c.Bold("  Totals at " + at.In(t.zone).Format("15:04 on Monday")))
	t.print("    " + of(many("customers", n.customers), many("events", n.events), many("runs", n.runs)+": "+of(
		fmt.Sprintf("%d done", n.outcomes[journal.Done]), fmt.Sprintf("%d stopped", n.outcomes[journal.Stopped]),
		fmt.Sprintf("%d cancelled", n.outcomes[journal.Cancelled]), fmt.Sprintf("%d waiting", len(t.begun)), failures)))
	t.print("    " + of(many("messages", n.messages), many("transfers", n.transfers), many("label changes", n.labels),
		many("cards made", n.made), many("cards moved", n.moved)))
	t.print("")
}
