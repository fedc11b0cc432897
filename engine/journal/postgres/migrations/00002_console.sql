-- Times are microseconds since 1970 in UTC, hours and days are numbers since then.

-- What all rules of a workspace did, by the hour, and what each of them did, by six hours. Each engine counts in rows of its own, so that none waits for another; they
-- are summed up when they are read. Those of engines that are gone are folded into the rows of engine 0.
CREATE TABLE quando.counts (
	hour      bigint NOT NULL,
	workspace text   COLLATE "C" NOT NULL,
	what      text   COLLATE "C" NOT NULL,
	detail    text   COLLATE "C" NOT NULL,
	engine    bigint NOT NULL,
	n         bigint NOT NULL,
	PRIMARY KEY (hour, workspace, what, detail, engine)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);
CREATE TABLE quando.rule_counts (
	hour      bigint NOT NULL,
	workspace text   COLLATE "C" NOT NULL,
	rule      text   COLLATE "C" NOT NULL,
	what      text   COLLATE "C" NOT NULL,
	detail    text   COLLATE "C" NOT NULL,
	engine    bigint NOT NULL,
	n         bigint NOT NULL,
	PRIMARY KEY (hour, workspace, rule, what, detail, engine)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

-- Why rules did not fire, by the day, with the newest event of each reason. A clause may be longer than an index takes.
CREATE TABLE quando.reasons (
	workspace text   COLLATE "C" NOT NULL,
	rule      text   COLLATE "C" NOT NULL,
	day       bigint NOT NULL,
	outcome   text   COLLATE "C" NOT NULL,
	clause    text   COLLATE "C" NOT NULL,
	engine    bigint NOT NULL,
	n         bigint NOT NULL,
	event     bigint NOT NULL,
	at        bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX reasons_key ON quando.reasons (workspace, rule, day, outcome, md5(clause), engine);
CREATE INDEX reasons_day ON quando.reasons (day);

CREATE TABLE quando.fired (
	workspace text   COLLATE "C" NOT NULL,
	rule      text   COLLATE "C" NOT NULL,
	engine    bigint NOT NULL,
	at        bigint NOT NULL,
	PRIMARY KEY (workspace, rule, engine)
) WITH (fillfactor = 50);

-- Whom the events of a lane mention, in JSON: texts by kind, the newest first, each with the day on which it was last mentioned.
CREATE SEQUENCE quando.known_id;
CREATE TABLE quando.known (
	id        bigint NOT NULL PRIMARY KEY,
	workspace text   COLLATE "C" NOT NULL,
	lane      text   COLLATE "C" NOT NULL,
	mentions  text   NOT NULL
);
CREATE UNIQUE INDEX known_lane ON quando.known (workspace, lane);

-- What a lane is found by that is known.
CREATE TABLE quando.mentions (
	kind  text   COLLATE "C" NOT NULL,
	key   text   COLLATE "C" NOT NULL,
	known bigint NOT NULL,
	PRIMARY KEY (kind, key, known)
);

-- What people changed. It only grows.
CREATE SEQUENCE quando.audit_id;
CREATE TABLE quando.audit (
	id      bigint NOT NULL PRIMARY KEY,
	at      bigint NOT NULL,
	who     text   NOT NULL,
	origin  text   NOT NULL,
	what    text   NOT NULL,
	subject text   NOT NULL,
	detail  text   NOT NULL
);
CREATE FUNCTION quando.audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'what was audited is neither changed nor deleted'; END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON quando.audit FOR EACH STATEMENT EXECUTE FUNCTION quando.audit_stays();

-- Runs that people look for by their state. Most runs are only ever running and done, and cost nothing here.
CREATE INDEX runs_apart ON quando.runs (state, id) WHERE state <> 'running' AND state <> 'done';
CREATE INDEX runs_rule_apart ON quando.runs (rule, state, id) WHERE state <> 'running' AND state <> 'done';
