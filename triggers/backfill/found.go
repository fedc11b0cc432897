package backfill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

const (
	atOnce = 50 // events per write to the journal

	// slack is how much later than its object's own time an event may have been created.
	slack = 30 * time.Second
	// early is how much earlier: the service's clocks may disagree.
	early = time.Hour
)

// A sighting is a change that the service's objects show.
type sighting struct {
	typ      string
	objects  service.Objects
	from, to string // of a moved card
	mark     string // tells it from other changes of the same object

	at           time.Time // when it happened
	exact        bool      // the service says so; otherwise it is taken for as old as it may be
	since, until time.Time // the earliest and latest time, if needed to match a recorded event
	except       []string  // ids of events that record other such changes
}

// finding returns the event of a sighting.
func (p *pass) finding(s *sighting) rules.Finding {
	profile := p.client.Profile()
	data := profile.EventData(s.typ, s.objects)
	if s.to != "" {
		data = profile.CardMoveData(data, s.from, s.to)
	}
	f := rules.Finding{
		Event: rules.Event{
			Workspace: p.options.Workspace, Type: s.typ, Tenant: p.tenant, CreatedAt: s.at, ReceivedAt: p.now, Data: data, Identity: profile.EventIdentity(s.typ, data),
		},
		Since: s.since, Until: s.until, Exact: s.exact, Except: s.except,
		Identify: func(e rules.Event) string { return profile.EventIdentity(e.Type, e.Data) },
	}
	if f.Since.IsZero() {
		f.Since = s.at.Add(-early)
	}
	parts := []string{s.typ, f.Identity}
	if s.mark != "" {
		parts = append(parts, s.mark)
	}
	f.ID = rules.FoundID(parts...)
	// A delivery may carry less than the object, so every place that may name the contact is checked.
	for _, kind := range service.Places {
		if id := profile.EventID(kind, s.typ, data); id != "" {
			f.Lanes = append(f.Lanes, rules.LaneOf(string(kind), id))
		}
	}
	if len(f.Lanes) > 0 {
		f.Lane = f.Lanes[0]
	}
	return f
}

// offer completes the sightings that the journal does not know, and records them. It logs and
// leaves out those that cannot be completed. It works in chunks: completing takes calls, and a pass
// that is stopped keeps what it has recorded.
func (p *pass) offer(ctx context.Context, list []sighting) error {
	missing, err := p.unknown(ctx, list)
	if err != nil {
		return err
	}
	slices.SortStableFunc(missing, func(a, b *sighting) int { return a.at.Compare(b.at) })
	var f failures
	for part := range slices.Chunk(missing, atOnce) {
		var found []rules.Finding
		ended := false
		for _, s := range part {
			told, err := p.complete(ctx, s)
			if ended = f.addResult(err); ended {
				break
			}
			if told && err == nil {
				found = append(found, p.finding(s))
			}
		}
		if err := p.record(ctx, found); err != nil {
			return err
		}
		if ended {
			break
		}
	}
	return f.first
}

// record writes findings to the journal, and counts the new ones.
func (p *pass) record(ctx context.Context, found []rules.Finding) error {
	if len(found) == 0 {
		return nil
	}
	fresh, err := p.options.Journal.AcceptFound(ctx, found...)
	if err != nil {
		return fmt.Errorf("record what was found: %w", err)
	}
	for i := range found {
		if i >= len(fresh) || !fresh[i] {
			continue
		}
		p.options.Count(found[i].Type)
		p.updateState(func(st *State) { st.Found++ })
		p.log.Debug("found what no webhook told", "type", found[i].Type, "event", found[i].ID, "lane", found[i].Lane, "age", p.now.Sub(found[i].CreatedAt).Round(time.Second))
	}
	return nil
}

// unknown returns the sightings that the journal does not know. Recording checks that again; this
// check saves calls.
func (p *pass) unknown(ctx context.Context, list []sighting) (missing []*sighting, err error) {
	type ask struct {
		types []string
		since time.Time
	}
	findings, asks := make([]rules.Finding, len(list)), map[string]*ask{}
	for i := range list {
		f := p.finding(&list[i])
		findings[i] = f
		for _, lane := range f.Lanes {
			a := asks[lane]
			if a == nil {
				a = &ask{since: f.Since}
				asks[lane] = a
			}
			if !slices.Contains(a.types, f.Type) {
				a.types = append(a.types, f.Type)
			}
			if f.Since.Before(a.since) {
				a.since = f.Since
			}
		}
	}
	known := map[string][]rules.Event{}
	for lane, a := range asks {
		if known[lane], err = p.options.Journal.Known(ctx, p.options.Workspace, lane, a.types, a.since); err != nil {
			return nil, fmt.Errorf("look for what was told: %w", err)
		}
	}
	for i := range findings {
		f := &findings[i]
		told := f.Identity == "" || f.Lane == "" || slices.ContainsFunc(f.Lanes, func(lane string) bool { return slices.ContainsFunc(known[lane], f.Tells) })
		if !told {
			missing = append(missing, &list[i])
		}
	}
	return missing, nil
}
