package backfill

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// A history is what happened to a card since it was last read. It derives that from the stored
// state, the current one, and the recorded events.
type history struct {
	*cardScan
	card   *service.Card
	was    *seenCard // nil if no state is stored
	before time.Time // when it still had the stored state. A change that shows no time gets this one, so that no rule takes it for newer than it is

	known []rules.Event // the recorded events of the card since then
}

// A move is one move of a card between stages.
type move struct {
	from, to string
	at       time.Time
	until    time.Time // the latest time at which it happened
	told     string    // the id of the recorded event; empty if it was not delivered
	version  int       // of the card after the move; 0 if unknown
}

// sightings returns the card's changes that rules need.
func (h *history) sightings(ctx context.Context) (list []sighting, err error) {
	if err := h.recall(ctx); err != nil {
		return nil, err
	}
	stages, err := h.stages(ctx, h.card.BoardID)
	if err != nil {
		return nil, err
	}
	begin, err := h.begin(ctx, stages)
	if err != nil {
		return nil, err
	}
	moves := h.fillMoves(begin, h.moves())
	if h.was == nil {
		list = append(list, sighting{typ: vocabulary.CardCreated, objects: h.objects(begin), at: h.created(), since: h.created().Add(-early)})
	}
	list = append(list, h.movings(moves)...)
	list = append(list, h.completions(begin, moves, stages)...)
	return slices.DeleteFunc(list, func(s sighting) bool { return !slices.Contains(h.types, s.typ) }), nil
}

// recall reads the recorded events of the card.
func (h *history) recall(ctx context.Context) error {
	profile := h.client.Profile()
	s := sighting{typ: vocabulary.CardMoved, objects: h.objects(h.card.StageID), to: h.card.StageID, at: h.start()}
	for _, lane := range h.finding(&s).Lanes {
		told, err := h.options.Journal.Known(ctx, h.options.Workspace, lane, cardTypes, h.start())
		if err != nil {
			return err
		}
		for _, e := range told {
			if profile.EventID(service.KindCard, e.Type, e.Data) == h.card.ID && h.after(e) {
				h.known = append(h.known, e)
			}
		}
	}
	return nil
}

// start is the time from which on changes may be unknown.
func (h *history) start() time.Time {
	if h.was != nil {
		return h.was.when()
	}
	return h.created().Add(-slack)
}

// after reports whether an event describes a change after the card was last read. It compares
// versions if there are any: much can happen in one moment.
func (h *history) after(e rules.Event) bool {
	if h.was == nil {
		return true
	}
	before, _ := strconv.Atoi(h.was.Version)
	if then := h.version(e); before > 0 && then > 0 {
		return then > before
	}
	return e.CreatedAt.After(h.was.when())
}

// version is the card version in an event's payload, or 0.
func (h *history) version(e rules.Event) int {
	raw, ok := h.client.Profile().EventObject(service.KindCard, e.Type, e.Data)
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(service.DecodeCard(raw, h.client.Profile()).Version)
	return n
}

// created is when the card was created, if it shows that.
func (h *history) created() time.Time { return given(h.card.CreatedAt, h.before) }

// end is when the card entered its stage, if it shows that, and the latest time at which that
// happened.
func (h *history) end() (at, until time.Time) {
	return given(h.card.UpdatedAt, h.before), given(h.card.UpdatedAt, h.now)
}

// given returns t, or other if t is zero.
func given(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}

// begin is the card's first stage: the stored one, or the one it was created in. A card without
// stored state that has changed since its creation began in the first stage of its board, unless
// the journal knows better.
func (h *history) begin(ctx context.Context, stages *boards) (string, error) {
	if h.was != nil {
		return h.was.Stage, nil
	}
	profile := h.client.Profile()
	for _, e := range h.known {
		if raw, ok := profile.EventObject(service.KindCard, e.Type, e.Data); ok && e.Type == vocabulary.CardCreated {
			if stage := service.DecodeCard(raw, profile).StageID; stage != "" {
				return stage, nil
			}
		}
	}
	if moves := h.moves(); len(moves) > 0 && moves[0].from != "" {
		return h.earliest(stages, moves[0].from), nil
	}
	stage, err := h.options.Journal.CreatedIn(ctx, h.options.Workspace, h.card.ID)
	if err != nil || stage != "" {
		return stage, err
	}
	return h.earliest(stages, h.card.StageID), nil
}

// earliest is the stage in which a card was created that was in a given stage when first seen.
func (h *history) earliest(stages *boards, stage string) string {
	first := stages.first[h.card.BoardID]
	version, _ := strconv.Atoi(h.card.Version)
	changed := version > 1 || version == 0 && h.card.UpdatedAt.After(h.card.CreatedAt)
	if first == "" || !changed {
		return stage
	}
	return first
}

// moves returns the recorded moves, in order of time.
func (h *history) moves() (list []move) {
	profile := h.client.Profile()
	for _, e := range h.known {
		if e.Type == vocabulary.CardMoved {
			m := profile.EventCardMove(e.Data)
			list = append(list, move{from: m.FromStageID, to: m.ToStageID, at: e.CreatedAt, until: e.CreatedAt, told: e.ID, version: h.version(e)})
		}
	}
	slices.SortStableFunc(list, func(a, b move) int {
		if a.version > 0 && b.version > 0 {
			return cmp.Compare(a.version, b.version)
		}
		return a.at.Compare(b.at)
	})
	return list
}

// fillMoves adds to the recorded moves those that must have happened between them.
func (h *history) fillMoves(begin string, told []move) (all []move) {
	here := begin
	at, until := h.end()
	for _, m := range told {
		if m.to == "" {
			continue
		}
		if m.from != "" && m.from != here {
			all = append(all, move{from: here, to: m.from, at: m.at, until: m.at})
		}
		all = append(all, m)
		here = m.to
		if h.card.UpdatedAt.IsZero() {
			at = latest(at, m.at)
		}
	}
	if end := h.card.StageID; here != end {
		all = append(all, move{from: here, to: end, at: at, until: until})
	}
	return all
}

// movings returns the moves that were not delivered.
func (h *history) movings(moves []move) (list []sighting) {
	var told []string
	for _, m := range moves {
		if m.told != "" {
			told = append(told, m.told)
		}
	}
	since := h.start()
	for i, m := range moves {
		if m.told == "" {
			until := m.until
			if i == len(moves)-1 {
				until = until.Add(slack)
			}
			list = append(list, sighting{
				typ: vocabulary.CardMoved, objects: h.objects(m.to), from: m.from, to: m.to, at: m.at, mark: h.moveKey(i, m.from), since: since, until: until, except: told,
			})
		}
		since = m.at
	}
	return list
}

// completions returns the card's entries into winning stages that were not delivered.
func (h *history) completions(begin string, moves []move, stages *boards) (list []sighting) {
	var used []string
	complete := func(i int, since, at, until time.Time) {
		for _, e := range h.known {
			if e.Type == vocabulary.CardCompleted && !slices.Contains(used, e.ID) && !e.CreatedAt.Before(since) && !e.CreatedAt.After(until) {
				used = append(used, e.ID)
				return
			}
		}
		list = append(list, sighting{
			typ: vocabulary.CardCompleted, objects: h.objects(h.card.StageID), at: at, mark: h.moveKey(i, ""), since: since, until: until, except: slices.Clone(used),
		})
	}
	won := func(stage string) bool { return stages.winning[stage] }
	if h.was == nil && won(begin) {
		complete(-1, h.start(), h.created(), given(h.card.CreatedAt, h.now).Add(slack))
	}
	since, entered := h.start(), false
	for i, m := range moves {
		if won(m.to) && !won(m.from) {
			complete(i, since, m.at, m.until.Add(slack))
			entered = true
		}
		since = m.at
	}
	// Some services do not mark winning stages but show the status on the card.
	if status := h.card.Status; !entered && !won(h.card.StageID) && (status == "completed" || status == "won") && (h.was == nil || h.was.Status != status) {
		at, until := h.end()
		complete(len(moves), h.start(), at, until.Add(slack))
	}
	return list
}

// moveKey tells one move from others of the same card to the same stage: by the card's version and
// the position of the move.
func (h *history) moveKey(i int, from string) string {
	was := "new"
	if h.was != nil {
		was = cmp.Or(h.was.Version, strconv.FormatInt(h.was.when().UnixMilli(), 10))
	}
	return was + "." + strconv.Itoa(i+1) + from
}

// objects are the event objects of the card, as if it were in this stage.
func (h *history) objects(stage string) service.Objects {
	return service.Objects{service.KindCard: h.client.Profile().CardInStage(h.card.Raw, stage)}
}
