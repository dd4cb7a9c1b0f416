-- Limits for receivers. starts: see limit.Starts. wake_at is when the line of
-- the key is planned next; null if nothing waits, or only a change can help.
-- A deleted limit permits everything and goes when no job names it.
CREATE TABLE limits (
    account    bigint NOT NULL,
    key        text COLLATE "C" NOT NULL,
    calls      bigint NOT NULL DEFAULT 0,
    per        bigint NOT NULL DEFAULT 0,
    parallel   bigint NOT NULL DEFAULT 0,
    paused     boolean NOT NULL DEFAULT false,
    deleted    boolean NOT NULL DEFAULT false,
    starts     text    NOT NULL DEFAULT '',
    wake_at    bigint,
    PRIMARY KEY (account, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX limits_wake ON limits (wake_at) WHERE wake_at IS NOT NULL;

-- The keys of unfinished jobs. state: 0 waits in the line of another key,
-- 1 waits in the line of this key, 2 granted or under way. due is the job's due
-- time. named: the job names the key.
CREATE TABLE limit_items (
    account bigint NOT NULL,
    number  bigint NOT NULL,
    key     text COLLATE "C" NOT NULL,
    state   smallint NOT NULL,
    due     bigint NOT NULL,
    named   boolean NOT NULL,
    PRIMARY KEY (account, number, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX limit_items_key ON limit_items (account, key, state, due, number);

-- While limits hold an item, its due time lies centuries ahead. A granted item
-- is due at its start time. start_by is the latest time at which it may start,
-- held_due the due time that the job has itself.
ALTER TABLE runs ADD COLUMN start_by bigint;
ALTER TABLE runs ADD COLUMN held_due bigint;
