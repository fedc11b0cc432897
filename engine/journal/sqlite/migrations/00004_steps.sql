-- A step is as long as what the service answers. Of a table without rowid, a row as long as that has pages of its own.
ALTER TABLE steps RENAME TO steps_before;
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
) STRICT;
INSERT INTO steps SELECT run, n, path, verb, key, state, attempts, error, record FROM steps_before ORDER BY run, n;
DROP TABLE steps_before;
