package forget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/stored"
)

// Reason is why runs about a forgotten person ended.
const Reason = "the person was forgotten"

// editSize is how many rows are changed in one transaction, so that an engine beside never waits for long.
const editSize = 200

// An editor says what becomes of a row: the same, another, or none. The columns are those of its table.
type editor func(f func(string) any, set func(string, any)) (keep bool, err error)

// Erase takes everything away that is about the person, and from everything else what they are found by. Ids and counts stay, so that what has come and was
// done is still known. It returns how many rows are others than before.
func (t *Trail) Erase(ctx context.Context, now time.Time) (changed int, err error) {
	if open := t.Open(); len(open) > 0 {
		if err := t.keeper.Cancel(ctx, now, open, Reason); err != nil {
			return 0, err
		}
		clear(t.open)
	}
	dropped := map[int64]map[engine.MentionKey]bool{} // lanes that are known by less, and what they are still found by
	for _, part := range []struct {
		table string
		edit  editor
	}{
		{"events", t.event}, {"runs", t.run}, {"steps", t.step}, {"gathers", t.gather}, {"caused", t.caused}, {"lanes", t.lane}, {"slots", t.slot}, {"holds", t.texted("reason")},
		{"known", func(f func(string) any, set func(string, any)) (bool, error) { return t.knowing(f, set, dropped) }},
		{"mentions", func(f func(string) any, _ func(string, any)) (bool, error) {
			left, less := dropped[f("known").(int64)]
			return !less || left[engine.MentionKey{Kind: engine.MentionKind(text(f("kind"))), Key: text(f("key"))}], nil
		}},
		{"audit", t.texted("subject", "detail")},
	} {
		n, err := t.edit(ctx, stored.Named(part.table), part.edit)
		if err != nil {
			return changed, fmt.Errorf("forget %s: %w", part.table, err)
		}
		changed += n
	}
	return changed, nil
}

// edit goes through a table and changes the rows of which an editor makes something else.
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

// event takes the content of an event away that is about the person. Its id stays, and it is decided: nothing comes of it any more, and a duplicate is known.
func (t *Trail) event(f func(string) any, set func(string, any)) (bool, error) {
	if t.elsewhere(f("workspace")) {
		return true, nil
	}
	if t.events[f("seq").(int64)] || t.lanes[laneKey{text(f("workspace")), text(f("lane"))}] {
		set("decided", true)
		for _, name := range []string{"data", "verdicts", "answers"} {
			set(name, nil)
		}
		return true, nil
	}
	others := f("type") != "message.received" // in which others may have written the same
	return true, errors.Join(t.scrubbed(f, set, others, "data"), t.scrubbed(f, set, others, "verdicts"), t.scrubbed(f, set, others, "answers"))
}

// scrubbed takes what the person is found by out of a column of JSON.
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

// texted takes what the person is found by out of columns of texts.
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

// knowing takes away what a lane is known by that is the person's.
func (t *Trail) knowing(f func(string) any, set func(string, any), dropped map[int64]map[engine.MentionKey]bool) (bool, error) {
	id := f("id").(int64)
	if t.elsewhere(f("workspace")) {
		return true, nil
	}
	if t.known[id] || t.lanes[laneKey{text(f("workspace")), text(f("lane"))}] {
		dropped[id] = nil
		return false, nil
	}
	known, err := knownOf(f("mentions"))
	if err != nil {
		return true, err
	}
	left := engine.Known{}
	for kind, list := range known {
		for _, k := range list {
			if t.terms.scrub(k.Text, true) == k.Text {
				left[kind] = append(left[kind], k)
			}
		}
	}
	if left.Equal(known) {
		return true, nil
	}
	dropped[id] = left.Keys()
	s, err := stored.Text(left)
	set("mentions", s)
	return len(left) > 0, err
}
