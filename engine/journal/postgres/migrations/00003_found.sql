-- Times are microseconds since 1970 in UTC; 0 is none.

-- Events that were found: what happened, between when and when, and which event told of it afterwards.
CREATE TABLE quando.found (
	seq       bigint NOT NULL PRIMARY KEY,
	workspace text   COLLATE "C" NOT NULL,
	type      text   COLLATE "C" NOT NULL,
	identity  text   COLLATE "C" NOT NULL,
	since     bigint NOT NULL,
	until     bigint NOT NULL,
	told      text   COLLATE "C" NOT NULL,
	at        bigint NOT NULL
);
CREATE INDEX found_identity ON quando.found (workspace, type, identity);
CREATE INDEX found_at ON quando.found (at, workspace, type);

-- What was last seen of things of the service, and when that was written down.
CREATE TABLE quando.seen (
	workspace text   COLLATE "C" NOT NULL,
	kind      text   COLLATE "C" NOT NULL,
	id        text   COLLATE "C" NOT NULL,
	value     text   NOT NULL,
	at        bigint NOT NULL,
	PRIMARY KEY (workspace, kind, id)
);
CREATE INDEX seen_at ON quando.seen (at);
