package forget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Reason is why runs about a forgotten person ended.
const Reason = "the person was forgotten"

// editSize is the number of rows per transaction, so that an engine on the same journal never waits
// long.
const editSize = 200

// An editor changes, keeps or deletes a row. The columns are those of its table.
type editor func(f func(string) any, set func(string, any)) (keep bool, err error)

// Erase deletes everything about the person, and their terms from everything else. Ids and counts
// stay, so that the history of events and effects remains. It returns how many rows changed.
func (t *Trail) Erase(ctx context.Context, now time.Time) (changed int, err error) {
	if open := t.Open(); len(open) > 0 {
		if err := t.keeper.Cancel(ctx, now, open, Reason); err != nil {
			return 0, err
		}
		clear(t.open)
	}
	dropped, err := t.lessKnown(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget known: %w", err)
	}
	// A row that leads to others is erased after them, the person's own events last of all: an
	// interrupted erasure finds the rest when it is repeated.
	for _, part := range []struct {
		table string
		edit  editor
	}{
		{"gathers", t.gather}, {"caused", t.caused}, {"lanes", t.lane}, {"slots", t.slot}, {"holds", t.stopped}, {"mutes", t.lane}, {"audit", t.texted("subject", "detail")},
		{"mentions", func(f func(string) any, _ func(string, any)) (bool, error) {
			left, less := dropped[f("known").(int64)]
			return !less || left[journal.MentionKey{Kind: journal.MentionKind(text(f("kind"))), Key: text(f("key"))}], nil
		}},
		{"known", t.knowing}, {"steps", t.step}, {"runs", t.run}, {"events", t.mentioning}, {"events", t.event},
	} {
		n, err := t.edit(ctx, stored.Named(part.table), part.edit)
		if err != nil {
			return changed, fmt.Errorf("forget %s: %w", part.table, err)
		}
		changed += n
	}
	return changed, nil
}

// edit applies an editor to the rows of a table.
func (t *Trail) edit(ctx context.Context, table *stored.Table, e editor) (changed int, err error) {
	apply := func(row []any) ([]any, error) {
		after := slices.Clone(row)
		keep, err := e(fields(table, row), func(name string, v any) { after[table.Index(name)] = v })
		if err != nil || !keep {
			return nil, err
		}
		return after, nil
	}
	var keys [][]any
	flush := func() error {
		n, err := t.keeper.Edit(ctx, table, keys, apply)
		changed, keys = changed+n, nil
		return err
	}
	err = stored.EachRow(ctx, t.keeper, table, func(row []any) error {
		after, err := apply(row)
		if err != nil {
			return err
		}
		if after == nil || !slices.Equal(after, row) {
			keys = append(keys, row[:table.Key])
		}
		if len(keys) == editSize {
			return flush()
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return changed, err
	}
	return changed, flush()
}

// event erases the content of an event about the person. Its id stays, and it is marked decided: no
// rule runs on it, and duplicates are recognized.
func (t *Trail) event(f func(string) any, set func(string, any)) (bool, error) {
	if t.tellsOf(f) {
		set("decided", true)
		for _, name := range []string{"data", "verdicts", "answers"} {
			set(name, nil)
		}
	}
	return true, nil
}

// tellsOf reports whether an event is about the person.
func (t *Trail) tellsOf(f func(string) any) bool {
	return !t.elsewhere(f("workspace")) && (t.events[f("seq").(int64)] || t.lanes[laneKey{text(f("workspace")), text(f("lane"))}])
}

// mentioning removes the person's terms from an event about others.
func (t *Trail) mentioning(f func(string) any, set func(string, any)) (bool, error) {
	if t.elsewhere(f("workspace")) || t.tellsOf(f) {
		return true, nil
	}
	others := f("type") != messageReceived // others may have written the same
	return true, errors.Join(t.scrubbed(f, set, others, "data"), t.scrubbed(f, set, others, "verdicts"), t.scrubbed(f, set, others, "answers"))
}

// scrubbed removes the person's terms from a column of JSON.
func (t *Trail) scrubbed(f func(string) any, set func(string, any), texts bool, column string) error {
	s, ok := f(column).(string)
	if !ok {
		return nil
	}
	clean, err := t.terms.scrubJSON(s, texts)
	if err == nil && clean != s {
		set(column, clean)
	}
	return err
}

// texted removes the person's terms from text columns.
func (t *Trail) texted(columns ...string) editor {
	return func(f func(string) any, set func(string, any)) (bool, error) {
		for _, name := range columns {
			set(name, t.terms.scrub(text(f(name)), true))
		}
		return true, nil
	}
}

func (t *Trail) run(f func(string) any, set func(string, any)) (bool, error) {
	if t.elsewhere(f("workspace")) {
		return true, nil
	}
	if !t.runs[f("id").(int64)] {
		if f("reason") != "" { // the run's phrase has the same
			if err := t.scrubbed(f, set, true, "about"); err != nil {
				return true, err
			}
		}
		return t.texted("reason", "by", "lane", "home")(f, set)
	}
	set("about", "{}")
	if finished, _ := f("finished").(bool); finished {
		set("asked", nil)
		set("lane", f("home"))
		set("by", f("home"))
		if f("reason") != Reason && f("reason") != "" {
			set("reason", Gone)
		}
	}
	return true, nil
}

func (t *Trail) step(f func(string) any, set func(string, any)) (bool, error) {
	if t.runs[f("run").(int64)] {
		set("record", nil)
		set("error", "")
		return true, nil
	}
	set("error", t.terms.scrub(text(f("error")), true))
	return true, t.scrubbed(f, set, true, "record")
}

// gather leaves the person's events out of what a rule gathers.
func (t *Trail) gather(f func(string) any, set func(string, any)) (bool, error) {
	if t.elsewhere(f("workspace")) {
		return true, nil
	}
	var events []int64
	s := text(f("events"))
	if err := stored.Decode(&s, &events); err != nil {
		return true, err
	}
	left := slices.DeleteFunc(slices.Clone(events), func(seq int64) bool { return t.events[seq] })
	if len(left) == 0 || t.terms.scrub(text(f("by")), true) != f("by") {
		return false, nil
	}
	if len(left) < len(events) {
		s, err := stored.Text(left)
		if err != nil {
			return true, err
		}
		set("events", s)
	}
	return true, nil
}

func (t *Trail) caused(f func(string) any, set func(string, any)) (bool, error) {
	if t.elsewhere(f("workspace")) {
		return true, nil
	}
	set("lane", t.terms.scrub(text(f("lane")), true))
	set("object", t.terms.scrub(text(f("object")), true)) // which is the lane where the call has no object
	if t.runs[f("run").(int64)] {
		set("fields", nil)
		return true, nil
	}
	return true, t.scrubbed(f, set, true, "fields")
}

// lane takes lanes away that are named by the phone: whatever waited there is cancelled.
func (t *Trail) lane(f func(string) any, _ func(string, any)) (bool, error) {
	lane := text(f("lane"))
	return t.elsewhere(f("workspace")) || t.terms.scrub(lane, true) == lane, nil
}

// stopped removes what stops a rule for the person alone.
func (t *Trail) stopped(f func(string) any, set func(string, any)) (bool, error) {
	if kept, err := t.lane(f, set); !kept || err != nil {
		return kept, err
	}
	_, err := t.texted("reason")(f, set)
	return true, errors.Join(err, t.scrubbed(f, set, true, "why"))
}

// slot takes takings away that are named by something of the person.
func (t *Trail) slot(f func(string) any, _ func(string, any)) (bool, error) {
	if t.elsewhere(f("workspace")) {
		return true, nil
	}
	for part := range strings.SplitSeq(text(f("key")), "/") {
		if t.terms.scrub(part, true) != part {
			return false, nil
		}
	}
	return true, nil
}

// knowing removes the person's mentions from a lane.
func (t *Trail) knowing(f func(string) any, set func(string, any)) (bool, error) {
	left, less, err := t.leftKnown(f)
	if err != nil || !less {
		return true, err
	}
	s, err := stored.Text(left)
	set("mentions", s)
	return len(left) > 0, err
}

// lessKnown returns the lanes that lose mentions, and what they keep.
func (t *Trail) lessKnown(ctx context.Context) (map[int64]map[journal.MentionKey]bool, error) {
	dropped := map[int64]map[journal.MentionKey]bool{}
	return dropped, stored.EachRow(ctx, t.keeper, knownTable, func(row []any) error {
		f := fields(knownTable, row)
		left, less, err := t.leftKnown(f)
		if less {
			dropped[f("id").(int64)] = left.Keys()
		}
		return err
	})
}

// leftKnown returns a lane's mentions without the person's, and whether that is less.
func (t *Trail) leftKnown(f func(string) any) (left journal.Known, less bool, err error) {
	if t.elsewhere(f("workspace")) {
		return nil, false, nil
	}
	if t.known[f("id").(int64)] || t.lanes[laneKey{text(f("workspace")), text(f("lane"))}] {
		return nil, true, nil
	}
	known, err := knownOf(f("mentions"))
	if err != nil {
		return nil, false, err
	}
	left = journal.Known{}
	for kind, list := range known {
		for _, k := range list {
			if t.terms.scrub(k.Text, true) == k.Text {
				left[kind] = append(left[kind], k)
			}
		}
	}
	return left, !left.Equal(known), nil
}
