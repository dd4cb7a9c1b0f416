-- failures: how many runs have failed since the last one that completed.
-- failing_since: when the first of them failed. failure: the cause of the latest.
ALTER TABLE schedules ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN failing_since INTEGER;
ALTER TABLE schedules ADD COLUMN failure TEXT NOT NULL DEFAULT '';

-- Enabled schedules that fail. Those that don't are not in it.
CREATE INDEX schedules_failing ON schedules (account, failing_since, id) WHERE failing_since IS NOT NULL AND disabled_at IS NULL;
