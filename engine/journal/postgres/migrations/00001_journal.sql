-- Times are microseconds since 1970 in UTC; 0 is none. Lists and objects are JSON, in columns of texts, because the database's own types for it refuse texts
-- that customers can write. Only engines.alive_until and commits.at are times of the database's clock.

CREATE SEQUENCE quando.events_seq;
CREATE TABLE quando.events (
	seq         bigint  NOT NULL PRIMARY KEY,
	workspace   text    COLLATE "C" NOT NULL,
	id          text    COLLATE "C" NOT NULL,
	type        text    COLLATE "C" NOT NULL,
	rule        text    COLLATE "C" NOT NULL,
	tenant      text    COLLATE "C" NOT NULL,
	lane        text    COLLATE "C" NOT NULL,
	created_at  bigint  NOT NULL,
	received_at bigint  NOT NULL,
	decided     boolean NOT NULL DEFAULT false,
	data        text, -- NULL when the content is gone and only the id is kept
	verdicts    text,
	judges      text[], -- the rules of the verdicts
	answers     text
);
CREATE UNIQUE INDEX events_id ON quando.events (workspace, id);
CREATE INDEX events_undecided ON quando.events (workspace, lane, seq) WHERE NOT decided;
CREATE INDEX events_lane ON quando.events (lane, workspace, created_at, type);
CREATE INDEX events_full ON quando.events (received_at, seq) WHERE data IS NOT NULL;
CREATE INDEX events_gone ON quando.events (received_at) WHERE data IS NULL;

CREATE SEQUENCE quando.runs_id;
CREATE TABLE quando.runs (
	id          bigint  NOT NULL PRIMARY KEY,
	key         text    COLLATE "C" NOT NULL,
	workspace   text    COLLATE "C" NOT NULL,
	rule        text    COLLATE "C" NOT NULL,
	version     text    COLLATE "C" NOT NULL,
	event       bigint  NOT NULL,
	gathered    text,
	home        text    COLLATE "C" NOT NULL,
	lane        text    COLLATE "C" NOT NULL,
	by          text    COLLATE "C" NOT NULL,
	state       text    COLLATE "C" NOT NULL,
	finished    boolean NOT NULL, -- whether the state is a last one
	stage       text    COLLATE "C" NOT NULL,
	ancestry    text,
	about       text    NOT NULL,
	started_at  bigint  NOT NULL,
	wake_at     bigint  NOT NULL,
	finished_at bigint  NOT NULL,
	reason      text    NOT NULL,
	asked       text
);
CREATE UNIQUE INDEX runs_key ON quando.runs (key);
CREATE INDEX runs_lane ON quando.runs (workspace, lane) WHERE NOT finished;
CREATE INDEX runs_away ON quando.runs (workspace, home) WHERE NOT finished AND home <> lane;
CREATE INDEX runs_asked ON quando.runs (workspace, lane) WHERE asked IS NOT NULL;
CREATE INDEX runs_by ON quando.runs (workspace, rule, by, id) WHERE NOT finished;
CREATE INDEX runs_gathered ON quando.runs (id) WHERE NOT finished AND gathered IS NOT NULL;
CREATE INDEX runs_state ON quando.runs (state, finished_at);
CREATE INDEX runs_rule ON quando.runs (rule, id);
CREATE INDEX runs_home ON quando.runs (home, id);
CREATE INDEX runs_event ON quando.runs (event);
CREATE INDEX runs_started ON quando.runs (started_at);

CREATE TABLE quando.steps (
	run      bigint  NOT NULL,
	n        integer NOT NULL,
	path     text    NOT NULL,
	verb     text    NOT NULL,
	key      text    NOT NULL,
	state    text    NOT NULL,
	attempts integer NOT NULL,
	error    text    NOT NULL,
	record   text,
	PRIMARY KEY (run, n)
);

-- A lane has a row while it is due, now or later. News counts how often somebody asked for its attention.
CREATE TABLE quando.lanes (
	workspace text   COLLATE "C" NOT NULL,
	lane      text   COLLATE "C" NOT NULL,
	due_at    bigint NOT NULL,
	news      bigint NOT NULL,
	PRIMARY KEY (workspace, lane)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX lanes_due ON quando.lanes (workspace, due_at);

-- An engine that does not say in time that it is alive loses its leases to whoever claims next.
CREATE TABLE quando.engines (
	id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name        text        NOT NULL,
	alive_until timestamptz NOT NULL
);

-- A lane that somebody works on: which engine, by which claim of it, and the news that it has seen.
CREATE TABLE quando.leases (
	workspace text   COLLATE "C" NOT NULL,
	lane      text   COLLATE "C" NOT NULL,
	engine    bigint NOT NULL,
	epoch     bigint NOT NULL,
	news      bigint NOT NULL,
	PRIMARY KEY (workspace, lane)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The number of a writer's newest transaction: by it a writer finds out what became of one of which it was not told.
CREATE TABLE quando.commits (
	writer text        NOT NULL PRIMARY KEY,
	n      bigint      NOT NULL,
	at     timestamptz NOT NULL
);

-- The takings of a key are numbered. Over is when one is outside of every window that ends then or later.
CREATE TABLE quando.slots (
	workspace text   COLLATE "C" NOT NULL,
	key       text   COLLATE "C" NOT NULL,
	n         bigint NOT NULL,
	at        bigint NOT NULL,
	over      bigint NOT NULL,
	PRIMARY KEY (workspace, key, n)
);
CREATE INDEX slots_over ON quando.slots (over);

CREATE TABLE quando.gathers (
	workspace text   COLLATE "C" NOT NULL,
	rule      text   COLLATE "C" NOT NULL,
	by        text   COLLATE "C" NOT NULL,
	lane      text   COLLATE "C" NOT NULL,
	events    text   NOT NULL,
	since     bigint NOT NULL,
	until     bigint NOT NULL,
	quiet     bigint NOT NULL,
	at_most   bigint NOT NULL,
	PRIMARY KEY (workspace, rule, by)
);
CREATE INDEX gathers_lane ON quando.gathers (workspace, lane, until);

CREATE SEQUENCE quando.caused_id;
CREATE TABLE quando.caused (
	id        bigint  NOT NULL PRIMARY KEY,
	workspace text    COLLATE "C" NOT NULL,
	lane      text    NOT NULL,
	event     text    COLLATE "C" NOT NULL,
	object    text    COLLATE "C" NOT NULL,
	stage     text    NOT NULL,
	fields    text,
	run       bigint  NOT NULL,
	rule      text    NOT NULL,
	ancestry  text,
	from_at   bigint  NOT NULL,
	to_at     bigint  NOT NULL,
	used      boolean NOT NULL,
	at        bigint  NOT NULL
);
CREATE INDEX caused_object ON quando.caused (workspace, object, event);

CREATE TABLE quando.rule_versions (
	hash   text NOT NULL PRIMARY KEY,
	rule   text COLLATE "C" NOT NULL,
	source text NOT NULL
);

CREATE TABLE quando.holds (
	workspace text   COLLATE "C" NOT NULL,
	rule      text   COLLATE "C" NOT NULL,
	kind      text   COLLATE "C" NOT NULL,
	reason    text   NOT NULL,
	since     bigint NOT NULL,
	until     bigint NOT NULL,
	PRIMARY KEY (workspace, rule, kind)
);

CREATE TABLE quando.cursors (
	name  text NOT NULL PRIMARY KEY,
	value text NOT NULL
);
