-- Jobs that wait for others: one row for each job that one waits for. state and ended_at
-- are null until the end of that job is noted. batch: the waiting job is the then of a
-- batch. retry_at: not to be noted before.
CREATE TABLE job_waits (
    account   bigint NOT NULL,
    job       bigint NOT NULL,
    waits_for bigint NOT NULL,
    batch     smallint NOT NULL,
    state     smallint,
    ended_at  bigint,
    retry_at  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account, job, waits_for)
);

CREATE INDEX job_waits_open ON job_waits (account, waits_for, job) WHERE state IS NULL;
CREATE INDEX job_waits_pending ON job_waits (account, job) WHERE state IS NULL;

-- Ends of awaited jobs, until they are noted in job_waits.
CREATE TABLE job_ends (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account  bigint NOT NULL,
    job      bigint NOT NULL,
    state    smallint NOT NULL,
    ended_at bigint NOT NULL,
    retry_at bigint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX job_ends_turn ON job_ends (account, job, number);

-- awaited: 1 if other jobs wait for the end of this one.
ALTER TABLE jobs ADD COLUMN awaited smallint;
