-- The newest event that was recorded when the call was planned: what the call caused has a higher number.
ALTER TABLE quando.caused ADD COLUMN after_event bigint NOT NULL DEFAULT 0;
