-- Limits for receivers. starts: see limit.Starts. wake_at is when the line of
-- the key is planned next; null if nothing waits, or only a change can help.
-- A deleted limit permits everything and goes when no job names it.
CREATE TABLE limits (
    account    INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    calls      INTEGER NOT NULL DEFAULT 0,
    per        INTEGER NOT NULL DEFAULT 0,
    parallel   INTEGER NOT NULL DEFAULT 0,
    paused     INTEGER NOT NULL DEFAULT 0,
    deleted    INTEGER NOT NULL DEFAULT 0,
    starts     TEXT    NOT NULL DEFAULT '',
    wake_at    INTEGER,
    PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX limits_wake ON limits (wake_at) WHERE wake_at IS NOT NULL;

-- The keys of unfinished jobs. state: 0 waits in the line of another key,
-- 1 waits in the line of this key, 2 granted or under way. due is the job's due
-- time. named: the job names the key.
CREATE TABLE limit_items (
    account INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    state   INTEGER NOT NULL,
    due     INTEGER NOT NULL,
    named   INTEGER NOT NULL,
    PRIMARY KEY (account, number, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX limit_items_key ON limit_items (account, key, state, due, number);

-- While limits hold an item, its due time lies centuries ahead. A granted item
-- is due at its start time. start_by is the latest time at which it may start,
-- held_due the due time that the job has itself.
ALTER TABLE runs ADD COLUMN start_by INTEGER;
ALTER TABLE runs ADD COLUMN held_due INTEGER;
