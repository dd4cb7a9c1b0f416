-- Muted schedules, whose failures alerts don't send. until: when it ends; failing_since: of
-- the failures that it acknowledges, which end it when they end. See job.Mute.
CREATE TABLE schedule_mutes (
    account       INTEGER NOT NULL,
    schedule      BLOB NOT NULL,
    until         INTEGER,
    failing_since INTEGER,
    note          TEXT,
    muted_at      INTEGER NOT NULL,
    PRIMARY KEY (account, schedule)
) STRICT, WITHOUT ROWID;
