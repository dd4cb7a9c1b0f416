-- Targets that operators have blocked for all accounts.
CREATE TABLE blocked_targets (
    target     TEXT PRIMARY KEY,
    reason     TEXT NOT NULL,
    blocked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How many jobs made one another up to this one.
ALTER TABLE jobs ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
