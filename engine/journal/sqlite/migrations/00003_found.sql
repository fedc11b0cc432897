-- Times are microseconds since 1970 in UTC; 0 is none.

-- Events that were found: what happened, between when and when, and which event told of it afterwards.
CREATE TABLE found (
	seq       INTEGER NOT NULL PRIMARY KEY,
	workspace TEXT    NOT NULL,
	type      TEXT    NOT NULL,
	identity  TEXT    NOT NULL,
	since     INTEGER NOT NULL,
	until     INTEGER NOT NULL,
	told      TEXT    NOT NULL,
	at        INTEGER NOT NULL
) STRICT;
CREATE INDEX found_identity ON found (workspace, type, identity);
CREATE INDEX found_at ON found (at, workspace, type);

-- What was last seen of things of the service, and when that was written down.
CREATE TABLE seen (
	workspace TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	value     TEXT    NOT NULL,
	at        INTEGER NOT NULL,
	PRIMARY KEY (workspace, kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_at ON seen (at);
