-- A conversation has one expected update for each message that was sent to it, and only those of the last moments can be an event that comes now.
DROP INDEX caused_object;
CREATE INDEX caused_object ON caused (workspace, object, event, to_at);
