package sqlite

import (
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// writeRows writes the decisions of operations, one statement per row.
func (t *tx) writeRows(l *ledger.Ledger) error {
	for _, write := range []func(*ledger.Ledger) error{
		t.writeEvents, t.writeVersions, t.writeRuns, t.writeSteps, t.writeSlots, t.writeGathers, t.writeMutes, t.writeCaused, t.writeTally, t.writeLanes,
	} {
		if err := write(l); err != nil {
			return err
		}
	}
	return nil
}

// writeEvents inserts fresh events with their verdicts, and sets the verdicts of others.
func (t *tx) writeEvents(l *ledger.Ledger) error {
	for i := range l.Events {
		r := &l.Events[i]
		e := r.Event
		_, err := t.exec(`INSERT INTO events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, decided, data, verdicts, answers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.Seq, e.Workspace, e.ID, e.Type, e.Rule, e.Tenant, e.Lane, stored.Micros(e.CreatedAt), stored.Micros(e.ReceivedAt), r.Decided, r.Data, r.VerdictsText, r.AnswersText)
		if err != nil {
			return err
		}
	}
	for seq, d := range l.Decided {
		if _, err := t.exec(`UPDATE events SET decided = 1, verdicts = ?, answers = ? WHERE seq = ?`, d.VerdictsText, d.AnswersText, seq); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeVersions(l *ledger.Ledger) error {
	for hash, source := range l.Sources {
		if _, err := t.exec(`INSERT OR IGNORE INTO rule_versions (hash, rule, source) VALUES (?, ?, ?)`, hash, source.Rule, source.Text); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeRuns(l *ledger.Ledger) error {
	begun, changed := l.Runs()
	for _, r := range changed {
		asked, err := stored.Ask(r.Asked)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE runs SET state = ?, finished = ?, lane = ?, wake_at = ?, finished_at = ?, reason = ?, about = ?, asked = ? WHERE id = ?`,
			string(r.State), r.State.Finished(), r.Lane, r.Wake, r.Finished, r.Reason, r.Texts.About, asked, r.ID)
		if err != nil {
			return err
		}
	}
	for _, r := range begun {
		asked, err := stored.Ask(r.Asked)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO runs (id, key, workspace, rule, version, event, gathered, home, lane, by, state, finished, stage, ancestry, about,
				started_at, wake_at, finished_at, reason, asked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID, r.Key, r.Workspace, r.Rule, r.Given.Version, r.Event, r.Texts.Gathered, r.Given.Home, r.Lane, r.By, string(r.State), r.State.Finished(), string(r.Given.Stage), r.Texts.Ancestry, r.Texts.About,
			r.Started, r.Wake, r.Finished, r.Reason, asked)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeSteps(l *ledger.Ledger) error {
	for _, s := range l.Steps {
		var record any
		if s.Record != nil {
			record = []byte(s.Record) // as bytes: a string would be a copy
		}
		_, err := t.exec(`INSERT INTO steps (run, n, path, verb, key, state, attempts, error, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))
			ON CONFLICT (run, n) DO UPDATE SET path = excluded.path, verb = excluded.verb, key = excluded.key, state = excluded.state, attempts = excluded.attempts,
				error = excluded.error, record = excluded.record`,
			s.Run, s.N, s.Path, s.Verb, s.Key, string(s.State), s.Attempts, s.Error, record)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeSlots(l *ledger.Ledger) error {
	for k, s := range l.Slots() {
		for _, taken := range s.Taken {
			if taken.N <= s.Over {
				continue
			}
			if _, err := t.exec(`INSERT INTO slots (workspace, key, n, at, over, rule) VALUES (?, ?, ?, ?, ?, ?)`, k.Workspace, k.Key, taken.N, taken.At, taken.Until, taken.Rule); err != nil {
				return err
			}
		}
		if s.Over > 0 {
			if _, err := t.exec(`DELETE FROM slots WHERE workspace = ? AND key = ? AND n <= ?`, k.Workspace, k.Key, s.Over); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) writeGathers(l *ledger.Ledger) error {
	for k := range l.Gathers {
		g := l.Gather(k)
		if g == nil {
			if _, err := t.exec(`DELETE FROM gathers WHERE workspace = ? AND rule = ? AND by = ?`, k.Workspace, k.Rule, k.By); err != nil {
				return err
			}
			continue
		}
		events, err := stored.Text(g.Events)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT OR REPLACE INTO gathers (workspace, rule, by, lane, events, since, until, quiet, at_most) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			g.Workspace, g.Rule, g.By, g.Lane, events, stored.Micros(g.Since), stored.Micros(g.Until), int64(g.Quiet), int64(g.AtMost))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeMutes(l *ledger.Ledger) error {
	for k := range l.Muted {
		m, muted := l.Mutes[k]
		var err error
		if muted {
			_, err = t.exec(`INSERT OR REPLACE INTO mutes (workspace, lane, rule, run, since, until) VALUES (?, ?, ?, ?, ?, ?)`,
				m.Workspace, m.Lane, m.Rule, m.Run, stored.Micros(m.Since), stored.Micros(m.Until))
		} else {
			_, err = t.exec(`DELETE FROM mutes WHERE workspace = ? AND lane = ?`, k.Workspace, k.Lane)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeCaused(l *ledger.Ledger) error {
	for i := range l.Caused {
		c := &l.Caused[i]
		_, err := t.exec(`INSERT INTO caused (id, workspace, lane, event, object, stage, fields, run, rule, ancestry, after_event, from_at, to_at, used, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.ID, c.Workspace, c.Lane, c.Event, c.Object, c.Stage, c.Texts.Fields, c.Run, c.Rule, c.Texts.Ancestry, c.After, stored.Micros(c.From), stored.Micros(c.To), c.Used, c.At)
		if err != nil {
			return err
		}
	}
	for _, id := range l.Gone {
		if _, err := t.exec(`DELETE FROM caused WHERE id = ?`, id); err != nil {
			return err
		}
	}
	for _, id := range l.Used {
		if _, err := t.exec(`UPDATE caused SET used = 1 WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

// writeTally adds the counts of the transaction to the sums.
func (t *tx) writeTally(l *ledger.Ledger) error {
	for k, n := range l.Tally.RuleCounts() {
		_, err := t.exec(`INSERT INTO rule_counts (hour, workspace, rule, what, detail, n) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (hour, workspace, rule, what, detail) DO UPDATE SET n = n + excluded.n`, k.Hour, k.Workspace, k.Rule, string(k.What), k.Detail, n)
		if err != nil {
			return err
		}
	}
	for k, n := range l.Tally.Counts() {
		_, err := t.exec(`INSERT INTO counts (hour, workspace, what, detail, n) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (hour, workspace, what, detail) DO UPDATE SET n = n + excluded.n`, k.Hour, k.Workspace, string(k.What), k.Detail, n)
		if err != nil {
			return err
		}
	}
	for k, r := range l.Tally.Reasons {
		_, err := t.exec(`INSERT INTO reasons (workspace, rule, day, outcome, clause, n, event, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace, rule, day, outcome, clause) DO UPDATE SET n = n + excluded.n,
				at = CASE WHEN excluded.event >= event THEN excluded.at ELSE at END, event = max(event, excluded.event)`,
			k.Workspace, k.Rule, k.Day, string(k.Outcome), k.Clause, r.N, r.Event, r.At)
		if err != nil {
			return err
		}
	}
	for k, at := range l.Tally.Fired {
		_, err := t.exec(`INSERT INTO fired (workspace, rule, at) VALUES (?, ?, ?) ON CONFLICT (workspace, rule) DO UPDATE SET at = excluded.at`, k.Workspace, k.Rule, at)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeLanes makes lanes due, and releases claimed ones.
func (t *tx) writeLanes(l *ledger.Ledger) error {
	for k, d := range l.Dues {
		if err := t.makeLaneDue(k, d.At, d.News); err != nil {
			return err
		}
	}
	for k, r := range l.Releases {
		if r.Next == 0 {
			n, err := t.execCount(`DELETE FROM lanes WHERE workspace = ? AND lane = ? AND news = ?`, k.Workspace, k.Lane, r.News)
			if err != nil {
				return err
			}
			if n > 0 {
				l.AddCalm(k)
				continue
			}
		}
		_, err := t.exec(`UPDATE lanes SET due_at = CASE news WHEN ? THEN ? ELSE ? END WHERE workspace = ? AND lane = ?`, r.News, r.Next, r.Soon, k.Workspace, k.Lane)
		if err != nil {
			return err
		}
	}
	return nil
}

// makeLaneDue makes a lane due at a time, and adds to its news.
func (t *tx) makeLaneDue(k ledger.LaneKey, at, news int64) error {
	t.w.claims.markWoken(k)
	_, err := t.exec(`INSERT INTO lanes (workspace, lane, due_at, news) VALUES (?, ?, ?, ?)
		ON CONFLICT (workspace, lane) DO UPDATE SET due_at = min(due_at, excluded.due_at), news = news + excluded.news`, k.Workspace, k.Lane, max(at, 1), news)
	return err
}
