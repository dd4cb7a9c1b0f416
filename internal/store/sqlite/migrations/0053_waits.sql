-- Jobs that wait for others: one row for each job that one waits for. state and ended_at
-- are null until the end of that job is noted. batch: the waiting job is the then of a
-- batch. retry_at: not to be noted before.
CREATE TABLE job_waits (
    account   INTEGER NOT NULL,
    job       INTEGER NOT NULL,
    waits_for INTEGER NOT NULL,
    batch     INTEGER NOT NULL,
    state     INTEGER,
    ended_at  INTEGER,
    retry_at  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, job, waits_for)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_waits_open ON job_waits (account, waits_for, job) WHERE state IS NULL;
CREATE INDEX job_waits_pending ON job_waits (account, job) WHERE state IS NULL;

-- Ends of awaited jobs, until they are noted in job_waits.
CREATE TABLE job_ends (
    number   INTEGER PRIMARY KEY,
    account  INTEGER NOT NULL,
    job      INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    retry_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX job_ends_turn ON job_ends (account, job, number);

-- awaited: 1 if other jobs wait for the end of this one.
ALTER TABLE jobs ADD COLUMN awaited INTEGER;
