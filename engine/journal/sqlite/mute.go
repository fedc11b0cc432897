package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Mute mutes and unmutes conversations.
func (j *Journal) Mute(ctx context.Context, changes ...journal.MuteChange) error {
	if err := j.writer.write(ctx, &operation{Operation: ledger.Mute(changes)}); err != nil {
		return fmt.Errorf("mute: %w", err)
	}
	return nil
}

const selectMutes = `SELECT workspace, lane, rule, run, since, until FROM mutes`

// eachMute returns a function that scans a row of selectMutes.
func eachMute(add func(journal.Mute)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var m journal.Mute
		var since, until int64
		err := rows.Scan(&m.Workspace, &m.Lane, &m.Rule, &m.Run, &since, &until)
		m.Since, m.Until = stored.Moment(since), stored.Moment(until)
		add(m)
		return err
	}
}

// Muted returns the mute of a conversation.
func (j *Journal) Muted(ctx context.Context, workspace, lane string, at time.Time) (found *journal.Mute, err error) {
	err = j.each(ctx, selectMutes+` WHERE workspace = ? AND lane = ?`, []any{workspace, lane}, eachMute(func(m journal.Mute) {
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
	err = j.each(ctx, selectMutes+` WHERE until = 0 OR until > ? ORDER BY workspace, lane`, []any{stored.Micros(at)}, eachMute(func(m journal.Mute) { mutes = append(mutes, m) }))
	if err != nil {
		return nil, fmt.Errorf("mutes: %w", err)
	}
	return mutes, nil
}
