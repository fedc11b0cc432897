-- A rule can be stopped in one lane alone.
ALTER TABLE quando.holds ADD COLUMN lane text COLLATE "C" NOT NULL DEFAULT ''; -- empty is everywhere
ALTER TABLE quando.holds DROP CONSTRAINT holds_pkey;
ALTER TABLE quando.holds ADD PRIMARY KEY (workspace, rule, lane, kind);

-- Whose messages fill a bound.
ALTER TABLE quando.slots ADD COLUMN rule text COLLATE "C" NOT NULL DEFAULT '';
