-- Times are microseconds since 1970 in UTC, hours and days are numbers since then.

-- What all rules of a workspace did, by the hour, and what each of them did, by six hours.
CREATE TABLE counts (
	hour      INTEGER NOT NULL,
	workspace TEXT    NOT NULL,
	what      TEXT    NOT NULL,
	detail    TEXT    NOT NULL,
	n         INTEGER NOT NULL,
	PRIMARY KEY (hour, workspace, what, detail)
) STRICT, WITHOUT ROWID;
CREATE TABLE rule_counts (
	hour      INTEGER NOT NULL,
	workspace TEXT    NOT NULL,
	rule      TEXT    NOT NULL,
	what      TEXT    NOT NULL,
	detail    TEXT    NOT NULL,
	n         INTEGER NOT NULL,
	PRIMARY KEY (hour, workspace, rule, what, detail)
) STRICT, WITHOUT ROWID;

-- Why rules did not fire, by the day, with the newest event of each reason.
CREATE TABLE reasons (
	workspace TEXT    NOT NULL,
	rule      TEXT    NOT NULL,
	day       INTEGER NOT NULL,
	outcome   TEXT    NOT NULL,
	clause    TEXT    NOT NULL,
	n         INTEGER NOT NULL,
	event     INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	PRIMARY KEY (workspace, rule, day, outcome, clause)
) STRICT, WITHOUT ROWID;
CREATE INDEX reasons_day ON reasons (day);

CREATE TABLE fired (
	workspace TEXT    NOT NULL,
	rule      TEXT    NOT NULL,
	at        INTEGER NOT NULL,
	PRIMARY KEY (workspace, rule)
) STRICT, WITHOUT ROWID;

-- Whom the events of a lane mention, in JSON: texts by kind, the newest first, each with the day on which it was last mentioned.
CREATE TABLE known (
	id        INTEGER PRIMARY KEY,
	workspace TEXT    NOT NULL,
	lane      TEXT    NOT NULL,
	mentions  TEXT    NOT NULL,
	UNIQUE (workspace, lane)
) STRICT;

-- What a lane is found by that is known.
CREATE TABLE mentions (
	kind  TEXT    NOT NULL,
	key   TEXT    NOT NULL,
	known INTEGER NOT NULL,
	PRIMARY KEY (kind, key, known)
) STRICT, WITHOUT ROWID;

-- What people changed. It only grows.
CREATE TABLE audit (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	at      INTEGER NOT NULL,
	who     TEXT    NOT NULL,
	origin  TEXT    NOT NULL,
	what    TEXT    NOT NULL,
	subject TEXT    NOT NULL,
	detail  TEXT    NOT NULL
) STRICT;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'what was audited is not changed'); END;
CREATE TRIGGER audit_grows BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'what was audited is not deleted'); END;

-- Runs that people look for by their state. Most runs are only ever running and done, and cost nothing here: two comparisons, where a list of states would be
-- built for each of them.
CREATE INDEX runs_apart ON runs (state, id) WHERE state <> 'running' AND state <> 'done';
CREATE INDEX runs_rule_apart ON runs (rule, state, id) WHERE state <> 'running' AND state <> 'done';
