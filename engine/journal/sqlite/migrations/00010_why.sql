-- The reason as a phrase with its arguments, where the engine wrote it.
ALTER TABLE holds ADD COLUMN why TEXT;
