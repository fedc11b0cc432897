-- A rule can be stopped in one lane alone.
ALTER TABLE holds RENAME TO holds_before;
CREATE TABLE holds (
	workspace TEXT    NOT NULL,
	rule      TEXT    NOT NULL,
	lane      TEXT    NOT NULL, -- empty is everywhere
	kind      TEXT    NOT NULL,
	reason    TEXT    NOT NULL,
	since     INTEGER NOT NULL,
	until     INTEGER NOT NULL,
	PRIMARY KEY (workspace, rule, lane, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO holds SELECT workspace, rule, '', kind, reason, since, until FROM holds_before;
DROP TABLE holds_before;

-- Whose messages fill a bound.
ALTER TABLE slots ADD COLUMN rule TEXT NOT NULL DEFAULT '';
