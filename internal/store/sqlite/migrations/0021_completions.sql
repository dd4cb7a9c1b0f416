-- How attempts are completed by their targets. token: the SHA-256 hash of the
-- token. state: 0 sent, 1 awaiting, 2 over; see job.Completion. The queue item of an
-- awaiting attempt stays claimed, by the node 9223372036854775807.
CREATE TABLE completions (
    token      BLOB PRIMARY KEY,
    account    INTEGER NOT NULL,
    job        INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    within     INTEGER NOT NULL,
    heartbeat  INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    deadline   INTEGER,
    heard_at   INTEGER NOT NULL,
    reported   BLOB,
    early      TEXT,
    progress   TEXT,
    request    BLOB NOT NULL,
    response   BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX completions_job ON completions (job);
CREATE INDEX completions_deadline ON completions (deadline) WHERE deadline IS NOT NULL;
