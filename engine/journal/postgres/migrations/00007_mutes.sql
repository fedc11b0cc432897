-- Conversations to which nothing automatic is sent.
CREATE TABLE quando.mutes (
	workspace text   NOT NULL,
	lane      text   NOT NULL,
	rule      text   NOT NULL, -- empty: a person muted it
	run       bigint NOT NULL,
	since     bigint NOT NULL,
	until     bigint NOT NULL, -- 0: until somebody unmutes it
	PRIMARY KEY (workspace, lane)
);
CREATE INDEX mutes_until ON quando.mutes (until) WHERE until > 0;
