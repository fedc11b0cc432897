-- Conversations to which nothing automatic is sent.
CREATE TABLE mutes (
	workspace TEXT    NOT NULL,
	lane      TEXT    NOT NULL,
	rule      TEXT    NOT NULL, -- empty: a person muted it
	run       INTEGER NOT NULL,
	since     INTEGER NOT NULL,
	until     INTEGER NOT NULL, -- 0: until somebody unmutes it
	PRIMARY KEY (workspace, lane)
) STRICT, WITHOUT ROWID;
CREATE INDEX mutes_until ON mutes (until) WHERE until > 0;
