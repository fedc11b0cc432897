package engine_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

var days = flag.Int("days", 26, "how many days TestRetention lets pass; what is kept is a third of that, without the 15 days that ids are kept longer")

// retained has rules that leave rows of every kind: answers, runs that wait and end, limits,
// gathers, messages to others.
const retained = `
rules:
  - id: reply
    when: message.received
    limit: { times: 20, per: 1h, by: contact.phone }
    do:
      - send_message: "Dear {{ contact.name }}, you wrote: {{ message.text }}"
      - wait: 2h
      - stop_if: attendance.status != "open"
      - add_labels: [vip]
  - id: gathered
    when: message.received
    gather: { quiet: 1m, at_most: 5m }
    if: len(messages) > 1
    do: [{ log: "{{ len(messages) }}" }]
  - id: picky
    when: [message.received, message.sent]
    if: message.text == "nothing at all"
    do: [{ log: x }]
  - id: telling
    when: attendance.opened
    do: [{ send_message: { text: "{{ contact.name }} has come", to: { phone: "` + bia + `", channel: Main } } }]
`

// TestRetention runs days of the same traffic, each with new customers: from the day on which as
// much is pruned as is added, neither the journal's file nor any of its tables grows.
func TestRetention(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	const idsKept = 15
	customers, keep := 4, max(2, (*days-idsKept)/4)
	if *days > 60 {
		customers, keep = 20, 30
	}
	d := newDesk(t, retained)
	flat := keep + idsKept + 2 // from this day on everything older is pruned, from all tables
	var most int64
	var then map[string]int64
	for day := 1; day <= *days; day++ {
		for i := range customers {
			phone := fmt.Sprintf("+5511%03d%06d", i, day)
			d.customer(phone, fmt.Sprintf("good morning, this is customer %d of day %d, and I have a question about order %d", i, day, day*100+i))
			d.pass(3 * time.Second)
			d.customer(phone, "are you there?")
			d.pass(20 * time.Minute)
		}
		d.pass(24*time.Hour - time.Duration(customers)*(20*time.Minute+3*time.Second))
		d.forgetOld(time.Duration(keep) * 24 * time.Hour)
		size, rows := d.measure()
		if *days > 60 || testing.Verbose() {
			t.Logf("day %2d: %7d bytes; events %d, runs %d, steps %d, known %d, mentions %d, caused %d, slots %d", day, size, rows["events"], rows["runs"], rows["steps"], rows["known"], rows["mentions"], rows["caused"], rows["slots"])
		}
		if day <= flat {
			most, then = max(most, size), rows
			continue
		}
		if size > most+most/20 {
			t.Errorf("on day %d the file has %d bytes; up to day %d it had %d at most", day, size, flat, most)
		}
		for name, n := range rows {
			if n > then[name]+then[name]/20+2 {
				t.Errorf("on day %d %s has %d rows; on day %d it had %d", day, name, n, flat, then[name])
			}
		}
		if t.Failed() {
			return
		}
	}
}

// forgetOld indexes the people whom events mention and prunes what is older than keep, like a
// running engine.
func (d *desk) forgetOld(keep time.Duration) {
	d.t.Helper()
	for more := true; more; {
		more = must(d.journal.Follow(d.t.Context()))
	}
	for more := true; more; {
		more = must(d.journal.Prune(d.t.Context(), d.clock.Now(), keep))
	}
}

// measure returns the size of the journal's file without its log, and how many rows each table has.
func (d *desk) measure() (size int64, rows map[string]int64) {
	d.t.Helper()
	db := must(sql.Open("sqlite3", "file:"+d.file+"?_busy_timeout=5000"))
	_ = must(db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`))
	if err := db.Close(); err != nil {
		d.t.Fatal(err)
	}
	k := must(sqlite.OpenKeeper(d.t.Context(), d.file, true))
	defer k.Close()
	rows = map[string]int64{}
	for _, table := range stored.Tables {
		err := stored.EachRow(d.t.Context(), k, table, func([]any) error { rows[table.Name]++; return nil })
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return must(os.Stat(d.file)).Size(), rows
}
