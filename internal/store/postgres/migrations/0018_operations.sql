-- state: 0 running, 1 finished, 2 stopped, 3 stopped and some of its jobs are
-- still in operation_jobs. scan_after: the job after which the search for jobs
-- continues; 0 when all are found. position: the last job changed or skipped.
-- holder: who carries it out, until held_until.
CREATE TABLE operations (
    account     bigint   NOT NULL,
    id          uuid     NOT NULL,
    state       smallint NOT NULL,
    action      text     NOT NULL,
    matched     bigint   NOT NULL,
    done        bigint   NOT NULL,
    inserted_at bigint   NOT NULL,
    finished_at bigint,
    hops        smallint NOT NULL,
    scan_after  bigint   NOT NULL,
    position    bigint   NOT NULL,
    holder      uuid,
    held_until  bigint   NOT NULL DEFAULT 0,
    actor       text     NOT NULL,
    skipped     text     NOT NULL,
    filter      text     NOT NULL,
    changes     text,
    PRIMARY KEY (account, id)
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX operations_running ON operations (account) WHERE state = 0;
CREATE INDEX operations_rest ON operations (id) WHERE state = 3;
CREATE INDEX operations_ended ON operations (finished_at) WHERE state > 0;

-- The numbers of the jobs that an operation has found and not changed yet, in
-- chunks of disjoint ranges: last is the highest number of a chunk.
CREATE TABLE operation_jobs (
    operation uuid   NOT NULL,
    last      bigint NOT NULL,
    numbers   bytea  NOT NULL,
    PRIMARY KEY (operation, last)
);
