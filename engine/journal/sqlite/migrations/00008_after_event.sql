-- The newest event that was recorded when the call was planned: what the call caused has a higher number.
ALTER TABLE caused ADD COLUMN after_event INTEGER NOT NULL DEFAULT 0;
