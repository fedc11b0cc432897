-- Every index of a run costs as much as the run itself, and one whose order is that of ids which the service gives touches another page each time. So a run is found by its event, which
-- comes in order, and by its rule: the key names both, and the events of a lane lead to its runs.
ALTER TABLE runs RENAME TO runs_before;
CREATE TABLE runs (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	key         TEXT    NOT NULL,
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
INSERT INTO runs SELECT id, key, workspace, rule, version, event, gathered, home, lane, by, state, finished, stage, ancestry, about, started_at, wake_at, finished_at, reason, asked
	FROM runs_before ORDER BY id;
-- No number is given twice, not that of a run that is gone either.
DELETE FROM sqlite_sequence WHERE name = 'runs';
INSERT INTO sqlite_sequence (name, seq) SELECT 'runs', seq FROM sqlite_sequence WHERE name = 'runs_before';
DROP TABLE runs_before;
CREATE UNIQUE INDEX runs_event ON runs (event, key);
CREATE INDEX runs_rule ON runs (rule, id);
CREATE INDEX runs_started ON runs (started_at);
CREATE INDEX runs_open ON runs (state, id) WHERE finished = 0;
CREATE INDEX runs_lane ON runs (workspace, lane) WHERE finished = 0;
CREATE INDEX runs_away ON runs (workspace, home) WHERE finished = 0 AND home <> lane;
CREATE INDEX runs_asked ON runs (workspace, lane) WHERE asked IS NOT NULL;
CREATE INDEX runs_by ON runs (workspace, rule, by, id) WHERE finished = 0;
CREATE INDEX runs_gathered ON runs (id) WHERE finished = 0 AND gathered IS NOT NULL;
CREATE INDEX runs_apart ON runs (state, id) WHERE state <> 'running' AND state <> 'done';
CREATE INDEX runs_rule_apart ON runs (rule, state, id) WHERE state <> 'running' AND state <> 'done';

-- What is over is found by going through all slots once a day.
DROP INDEX slots_over;
