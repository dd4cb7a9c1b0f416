CREATE TABLE accounts (
    number     INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    email      TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE secrets (
    account    INTEGER NOT NULL REFERENCES accounts,
    created_at INTEGER NOT NULL,
    value      TEXT NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (account, created_at, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    id           BLOB PRIMARY KEY,
    account      INTEGER NOT NULL REFERENCES accounts,
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_account ON keys (account, created_at);

CREATE TABLE schedules (
    id          BLOB PRIMARY KEY,
    account     INTEGER NOT NULL,
    key         TEXT,
    name        TEXT,
    description TEXT,
    inserted_at INTEGER NOT NULL,
    disabled_at INTEGER,
    first_due   INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    args        TEXT NOT NULL,
    state       TEXT,
    previous    TEXT
) STRICT;

CREATE INDEX schedules_list ON schedules (account, id);

-- state: 1 available, 2 retryable, 4 completed, 5 cancelled, 6 discarded.
-- A job executes (3) while its run is claimed and begun; that is never stored.
CREATE TABLE jobs (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB NOT NULL,
    account      INTEGER NOT NULL,
    state        INTEGER NOT NULL,
    schedule_id  BLOB,
    key          TEXT,
    inserted_at  INTEGER NOT NULL,
    scheduled_at INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    attempted_at INTEGER,
    completed_at INTEGER,
    cancelled_at INTEGER,
    discarded_at INTEGER,
    name         TEXT,
    description  TEXT,
    args         TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX jobs_id ON jobs (id);
CREATE INDEX jobs_list ON jobs (account, state, number);
CREATE INDEX jobs_key ON jobs (account, key, number) WHERE key IS NOT NULL;
CREATE INDEX jobs_schedule ON jobs (schedule_id, number) WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_final ON jobs (coalesce(completed_at, cancelled_at, discarded_at)) WHERE state >= 4;

-- The queue. kind: 0 a job's attempt, 1 a delivery. attempt counts the
-- attempts begun, the claimed one included.
CREATE TABLE runs (
    due      INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    account  INTEGER NOT NULL,
    lane     INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    node     INTEGER NOT NULL DEFAULT 0,
    begin_at INTEGER,
    log      BLOB,
    PRIMARY KEY (due, kind, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_claimed ON runs (account, number) WHERE node > 0;

-- Messages to callbacks (channel 1) and webhooks (2). due is null while an
-- earlier event of the job has not been tried; attempt counts finished tries.
-- A number is never given twice, since it names the run to those who have not
-- heard yet that it is gone.
CREATE TABLE deliveries (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    message     TEXT NOT NULL,
    account     INTEGER NOT NULL,
    job         INTEGER NOT NULL,
    job_attempt INTEGER NOT NULL,
    channel     INTEGER NOT NULL,
    url         TEXT NOT NULL,
    event       TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    due         INTEGER,
    begin_at    INTEGER NOT NULL,
    body        TEXT NOT NULL
) STRICT;

CREATE INDEX deliveries_job ON deliveries (job, number);

-- event: see events in logs.go.
CREATE TABLE logs (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL,
    account     INTEGER NOT NULL,
    job         INTEGER NOT NULL,
    event       INTEGER NOT NULL,
    inserted_at INTEGER NOT NULL,
    payload     TEXT NOT NULL
) STRICT;

CREATE INDEX logs_list ON logs (account, id);
CREATE INDEX logs_job ON logs (job, id);
CREATE INDEX logs_event ON logs (account, event, id) WHERE event >= 3;
