-- Runs that one transaction began or took further while somebody works on their lanes, and the least and the greatest of their numbers. They are put among the runs when he is done, or when
-- somebody asks for them.
CREATE TABLE drafts (
	id    INTEGER PRIMARY KEY,
	first INTEGER NOT NULL,
	last  INTEGER NOT NULL,
	runs  BLOB    NOT NULL
) STRICT;
