package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Mute mutes and unmutes conversations.
func (j *Journal) Mute(ctx context.Context, changes ...journal.MuteChange) error {
	if err := j.changes.write(ctx, &operation{Operation: ledger.Mute(changes)}); err != nil {
		return fmt.Errorf("mute: %w", err)
	}
	return nil
}

const selectMutes = `SELECT m.workspace, m.lane, m.rule, m.run, m.since, m.until FROM quando.mutes m`

// eachMute returns a function that scans a row of selectMutes.
func eachMute(add func(journal.Mute)) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var m journal.Mute
		var since, until int64
		err := rows.Scan(text{&m.Workspace}, text{&m.Lane}, text{&m.Rule}, &m.Run, &since, &until)
		m.Since, m.Until = stored.Moment(since), stored.Moment(until)
		add(m)
		return err
	}
}

// Muted returns the mute of a conversation.
func (j *Journal) Muted(ctx context.Context, workspace, lane string, at time.Time) (found *journal.Mute, err error) {
	err = j.each(ctx, selectMutes+` WHERE m.workspace = $1 AND m.lane = $2`, []any{encodeText(workspace), encodeText(lane)}, eachMute(func(m journal.Mute) {
		if m.Covers(at) {
			found = &m
		}
	}))
	if err != nil {
		return nil, fmt.Errorf("muted: %w", err)
	}
	return found, nil
}

// Mutes returns all mutes.
func (j *Journal) Mutes(ctx context.Context, at time.Time) (mutes []journal.Mute, err error) {
	err = j.each(ctx, selectMutes+` WHERE m.until = 0 OR m.until > $1 ORDER BY m.workspace, m.lane`, []any{stored.Micros(at)}, eachMute(func(m journal.Mute) { mutes = append(mutes, m) }))
	if err != nil {
		return nil, fmt.Errorf("mutes: %w", err)
	}
	return mutes, nil
}
