package backfill

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// seenAttendances is the kind of the stored open attendances. The list cannot be asked for those
// closed since a time.
const seenAttendances = "attendance"

// attendances finds attendances that were opened or closed.
func (p *pass) attendances(ctx context.Context, sp span) error {
	closed := slices.Contains(sp.types, vocabulary.AttendanceClosed)
	done := map[string]bool{} // closed, and no event is missing
	open := map[string]bool{} // or closed just now, so that the next pass has to check them
	var f failures
	if !sp.first {
		err := p.opened(ctx, sp, done, open)
		if f.addResult(err) || !closed {
			return err
		}
		if err != nil {
			clear(done)
		}
	}
	if !closed {
		return nil
	}
	before, err := p.options.Journal.Seen(ctx, p.options.Workspace, seenAttendances)
	if err != nil {
		return err
	}
	for a, err := range p.client.Attendances(ctx, service.AttendanceQuery{Status: service.StatusOpen}) {
		if err != nil {
			return err
		}
		open[a.ID] = true
		p.updateState(func(st *State) { st.Looked++ })
	}
	change := map[string]string{}
	rewrite := p.rewrite(seenAttendances)
	for id := range open {
		if before[id] == "" || rewrite {
			change[id] = service.StatusOpen
		}
	}
	f.addResult(p.gone(ctx, sp, before, open, done, change))
	if err := p.remember(ctx, seenAttendances, change); err != nil {
		return err
	}
	return f.first
}

// gone checks the attendances that were open before and are no longer listed as open. It notes
// those that need no further check.
func (p *pass) gone(ctx context.Context, sp span, before map[string]string, open, done map[string]bool, change map[string]string) error {
	var f failures
	for id := range before {
		switch {
		case open[id]:
		case sp.first || done[id]:
			change[id] = ""
		default:
			gone, err := p.closed(ctx, sp, id)
			if f.addResult(err) {
				return err
			}
			if gone && err == nil {
				change[id] = ""
			}
		}
	}
	return f.first
}

// opened checks the attendances opened in the span. Some of them are closed already: it notes those
// that are done, and the others as open.
func (p *pass) opened(ctx context.Context, sp span, done, open map[string]bool) error {
	var list []sighting
	for a, err := range p.client.Attendances(ctx, service.AttendanceQuery{From: sp.since}) {
		if err != nil {
			return err
		}
		p.updateState(func(st *State) { st.Looked++ })
		if a.OpenedAt.IsZero() {
			p.logOnce("attendance times", phrases.New(phrases.BackfillAttendanceTimes))
			return nil
		}
		if a.OpenedAt.Before(sp.since) {
			continue
		}
		if slices.Contains(sp.types, vocabulary.AttendanceOpened) && p.ripe(vocabulary.AttendanceOpened, a.OpenedAt) {
			list = append(list, sighting{typ: vocabulary.AttendanceOpened, objects: attendanceObjects(&a), at: a.OpenedAt, exact: true})
		}
		if s, ripe := p.closing(sp, &a); ripe {
			done[a.ID] = true
			list = append(list, s...)
		} else {
			open[a.ID] = true
		}
	}
	return p.offer(ctx, list)
}

// closed checks an attendance that is no longer listed as open, and reports whether it needs no
// further check.
func (p *pass) closed(ctx context.Context, sp span, id string) (gone bool, err error) {
	if err := p.scanCardsBetween(ctx); err != nil {
		return false, err
	}
	a, err := p.client.GetAttendance(ctx, id)
	if service.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	list, ripe := p.closing(sp, &a)
	if !ripe {
		return false, nil
	}
	return true, p.offer(ctx, list)
}

// closing returns the sighting of a closed attendance, and whether its webhook can no longer be in
// flight.
func (p *pass) closing(sp span, a *service.Attendance) (list []sighting, ripe bool) {
	if a.Status != service.StatusClosed && a.ClosedAt == nil {
		return nil, false
	}
	at := sp.last
	if a.ClosedAt != nil {
		at = *a.ClosedAt
	}
	if !p.ripe(vocabulary.AttendanceClosed, at) && a.ClosedAt != nil {
		return nil, false
	}
	if slices.Contains(sp.types, vocabulary.AttendanceClosed) && !at.Before(p.now.Add(-p.options.Most)) {
		list = append(list, sighting{typ: vocabulary.AttendanceClosed, objects: attendanceObjects(a), at: at, exact: a.ClosedAt != nil, since: a.OpenedAt.Add(-early)})
	}
	return list, true
}

func attendanceObjects(a *service.Attendance) service.Objects {
	o := service.Objects{service.KindAttendance: a.Raw}
	if a.Contact != nil {
		o[service.KindContact] = a.Contact.Raw
	}
	return o
}

// rewrite reports whether all stored state of a kind is due to be rewritten, before the journal's
// retention deletes it.
func (p *pass) rewrite(kind string) bool { return p.now.Sub(p.written[kind]) >= 24*time.Hour }

// remember stores the changed state of a kind.
func (p *pass) remember(ctx context.Context, kind string, change map[string]string) error {
	if p.rewrite(kind) {
		p.written[kind] = p.now
	}
	// In chunks, so that deliveries are recorded in between.
	for ids := range slices.Chunk(slices.Collect(maps.Keys(change)), cardsPerWrite) {
		part := map[string]string{}
		for _, id := range ids {
			part[id] = change[id]
		}
		if err := p.options.Journal.SetSeen(ctx, p.now, p.options.Workspace, kind, part); err != nil {
			return err
		}
	}
	return nil
}
