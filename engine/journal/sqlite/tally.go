package sqlite

// tallied writes the sums of the transaction.
func (t *tx) tallied() error {
	for k, n := range t.tally.RuleCounts() {
		_, err := t.exec(`INSERT INTO rule_counts (hour, workspace, rule, what, detail, n) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (hour, workspace, rule, what, detail) DO UPDATE SET n = n + excluded.n`, k.Hour, k.Workspace, k.Rule, string(k.What), k.Detail, n)
		if err != nil {
			return err
		}
	}
	for k, n := range t.tally.Counts() {
		_, err := t.exec(`INSERT INTO counts (hour, workspace, what, detail, n) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (hour, workspace, what, detail) DO UPDATE SET n = n + excluded.n`, k.Hour, k.Workspace, string(k.What), k.Detail, n)
		if err != nil {
			return err
		}
	}
	for k, r := range t.tally.Reasons {
		_, err := t.exec(`INSERT INTO reasons (workspace, rule, day, outcome, clause, n, event, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace, rule, day, outcome, clause) DO UPDATE SET n = n + excluded.n,
				at = CASE WHEN excluded.event >= event THEN excluded.at ELSE at END, event = max(event, excluded.event)`,
			k.Workspace, k.Rule, k.Day, string(k.Outcome), k.Clause, r.N, r.Event, r.At)
		if err != nil {
			return err
		}
	}
	for k, at := range t.tally.Fired {
		_, err := t.exec(`INSERT INTO fired (workspace, rule, at) VALUES (?, ?, ?) ON CONFLICT (workspace, rule) DO UPDATE SET at = excluded.at`, k.Workspace, k.Rule, at)
		if err != nil {
			return err
		}
	}
	return nil
}
