-- state: 0 running, 1 finished, 2 stopped, 3 stopped and some of its jobs are
-- still in operation_jobs. scan_after: the job after which the search for jobs
-- continues; 0 when all are found. position: the last job changed or skipped.
-- holder: who carries it out, until held_until. The long columns come last.
CREATE TABLE operations (
    id          BLOB PRIMARY KEY,
    account     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    action      TEXT NOT NULL,
    matched     INTEGER NOT NULL,
    done        INTEGER NOT NULL,
    inserted_at INTEGER NOT NULL,
    finished_at INTEGER,
    hops        INTEGER NOT NULL,
    scan_after  INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    holder      BLOB,
    held_until  INTEGER NOT NULL DEFAULT 0,
    actor       TEXT NOT NULL,
    skipped     TEXT NOT NULL,
    filter      TEXT NOT NULL,
    changes     TEXT
) STRICT;

CREATE UNIQUE INDEX operations_running ON operations (account) WHERE state = 0;
CREATE INDEX operations_list ON operations (account, id);
CREATE INDEX operations_rest ON operations (id) WHERE state = 3;
CREATE INDEX operations_ended ON operations (finished_at) WHERE state > 0;

-- The numbers of the jobs that an operation has found and not changed yet, in
-- chunks of disjoint ranges: last is the highest number of a chunk.
CREATE TABLE operation_jobs (
    operation BLOB NOT NULL,
    last      INTEGER NOT NULL,
    numbers   BLOB NOT NULL,
    PRIMARY KEY (operation, last)
) STRICT;
