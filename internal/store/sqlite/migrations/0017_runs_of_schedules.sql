-- runs: how many runs of the schedule counted before this one, or before the
-- schedule was disabled. skipped: points of the grid before this run without a
-- run of their own. ended: why the schedule ended. since: points before it are not
-- missed.
ALTER TABLE jobs ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN ended TEXT NOT NULL DEFAULT '';
ALTER TABLE schedules ADD COLUMN since INTEGER;
