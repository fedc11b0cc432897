-- The reason as a phrase with its arguments, where the engine wrote it.
ALTER TABLE quando.holds ADD COLUMN why text;
