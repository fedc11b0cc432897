-- Times are microseconds since 1970 in UTC; 0 is none. Lists and objects are JSON.

CREATE TABLE events (
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	workspace   TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	type        TEXT    NOT NULL,
	rule        TEXT    NOT NULL,
	tenant      TEXT    NOT NULL,
	lane        TEXT    NOT NULL,
	created_at  INTEGER NOT NULL,
	received_at INTEGER NOT NULL,
	decided     INTEGER NOT NULL DEFAULT 0,
	data        TEXT, -- NULL when the content is gone and only the id is kept
	verdicts    TEXT,
	answers     TEXT,
	UNIQUE (workspace, id)
) STRICT;
CREATE INDEX events_undecided ON events (workspace, lane, seq) WHERE decided = 0;
CREATE INDEX events_lane ON events (lane, workspace, created_at, type);
CREATE INDEX events_full ON events (received_at) WHERE data IS NOT NULL;
CREATE INDEX events_gone ON events (received_at) WHERE data IS NULL;

CREATE TABLE runs (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	key         TEXT    NOT NULL UNIQUE,
	workspace   TEXT    NOT NULL,
	rule        TEXT    NOT NULL,
	version     TEXT    NOT NULL,
	event       INTEGER NOT NULL,
	gathered    TEXT,
	home        TEXT    NOT NULL,
	lane        TEXT    NOT NULL,
	by          TEXT    NOT NULL,
	state       TEXT    NOT NULL,
	finished    INTEGER NOT NULL, -- whether the state is a last one
	stage       TEXT    NOT NULL,
	ancestry    TEXT,
	about       TEXT    NOT NULL,
	started_at  INTEGER NOT NULL,
	wake_at     INTEGER NOT NULL,
	finished_at INTEGER NOT NULL,
	reason      TEXT    NOT NULL,
	asked       TEXT
) STRICT;
CREATE INDEX runs_lane ON runs (workspace, lane) WHERE finished = 0;
CREATE INDEX runs_away ON runs (workspace, home) WHERE finished = 0 AND home <> lane;
CREATE INDEX runs_asked ON runs (workspace, lane) WHERE asked IS NOT NULL;
CREATE INDEX runs_by ON runs (workspace, rule, by, id) WHERE finished = 0;
CREATE INDEX runs_gathered ON runs (id) WHERE finished = 0 AND gathered IS NOT NULL;
CREATE INDEX runs_state ON runs (state, finished_at);
CREATE INDEX runs_rule ON runs (rule, id);
CREATE INDEX runs_home ON runs (home, id);
CREATE INDEX runs_event ON runs (event);
CREATE INDEX runs_started ON runs (started_at);

CREATE TABLE steps (
	run      INTEGER NOT NULL,
	n        INTEGER NOT NULL,
	path     TEXT    NOT NULL,
	verb     TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	state    TEXT    NOT NULL,
	attempts INTEGER NOT NULL,
	error    TEXT    NOT NULL,
	record   TEXT,
	PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- A lane has a row while it is due, now or later. News counts how often somebody asked for its attention.
CREATE TABLE lanes (
	workspace TEXT    NOT NULL,
	lane      TEXT    NOT NULL,
	due_at    INTEGER NOT NULL,
	news      INTEGER NOT NULL,
	PRIMARY KEY (workspace, lane)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes_due ON lanes (workspace, due_at);

-- The takings of a key are numbered. Over is when one is outside of every window that ends then or later.
CREATE TABLE slots (
	workspace TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	n         INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	over      INTEGER NOT NULL,
	PRIMARY KEY (workspace, key, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX slots_over ON slots (over);

CREATE TABLE gathers (
	workspace TEXT    NOT NULL,
	rule      TEXT    NOT NULL,
	by        TEXT    NOT NULL,
	lane      TEXT    NOT NULL,
	events    TEXT    NOT NULL,
	since     INTEGER NOT NULL,
	until     INTEGER NOT NULL,
	quiet     INTEGER NOT NULL,
	at_most   INTEGER NOT NULL,
	PRIMARY KEY (workspace, rule, by)
) STRICT, WITHOUT ROWID;
CREATE INDEX gathers_lane ON gathers (workspace, lane, until);

CREATE TABLE caused (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	workspace TEXT    NOT NULL,
	lane      TEXT    NOT NULL,
	event     TEXT    NOT NULL,
	object    TEXT    NOT NULL,
	stage     TEXT    NOT NULL,
	fields    TEXT,
	run       INTEGER NOT NULL,
	rule      TEXT    NOT NULL,
	ancestry  TEXT,
	from_at   INTEGER NOT NULL,
	to_at     INTEGER NOT NULL,
	used      INTEGER NOT NULL DEFAULT 0,
	at        INTEGER NOT NULL
) STRICT;
CREATE INDEX caused_object ON caused (workspace, object, event);

CREATE TABLE rule_versions (
	hash   TEXT NOT NULL PRIMARY KEY,
	rule   TEXT NOT NULL,
	source TEXT NOT NULL
) STRICT;

CREATE TABLE holds (
	workspace TEXT    NOT NULL,
	rule      TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	reason    TEXT    NOT NULL,
	since     INTEGER NOT NULL,
	until     INTEGER NOT NULL,
	PRIMARY KEY (workspace, rule, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursors (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
) STRICT;
