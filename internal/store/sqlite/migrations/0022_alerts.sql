-- Accounts that have alerts. late_min and late_max bound the late_by of their
-- alerts, in microseconds (0: none has one); wake_at is when the tracker must look at the account again; data
-- belongs to the tracker. revision has changed if a row or an alert has.
CREATE TABLE alert_accounts (
    account  INTEGER PRIMARY KEY,
    late_min INTEGER NOT NULL,
    late_max INTEGER NOT NULL,
    wake_at  INTEGER,
    data     TEXT
) STRICT;

CREATE INDEX alert_accounts_wake ON alert_accounts (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE alert_revision (
    number   INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT;

INSERT INTO alert_revision VALUES (1, 1);

CREATE TABLE alerts (
    account     INTEGER NOT NULL,
    name        TEXT NOT NULL,
    definition  TEXT NOT NULL,
    match       TEXT NOT NULL,
    inserted_at INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    late_by     INTEGER NOT NULL,
    wake_at     INTEGER,
    data        TEXT,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- What an alert has seen of a schedule, or of all one-off jobs (schedule is 16
-- zero bytes). kind: 1 failures in a row, 2 a late run.
CREATE TABLE alert_states (
    account  INTEGER NOT NULL,
    schedule BLOB NOT NULL,
    alert    TEXT NOT NULL,
    kind     INTEGER NOT NULL,
    job      INTEGER NOT NULL,
    wake_at  INTEGER,
    data     TEXT,
    PRIMARY KEY (account, schedule, alert, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX alert_states_wake ON alert_states (account, wake_at) WHERE wake_at IS NOT NULL;

-- Outcomes of jobs of accounts with alerts, until they are tracked. kind:
-- 1 succeeded, 2 failed, 3 points were skipped.
CREATE TABLE alert_outcomes (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    account  INTEGER NOT NULL,
    job      INTEGER NOT NULL,
    schedule BLOB NOT NULL,
    kind     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    tags     TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT;

CREATE INDEX alert_outcomes_account ON alert_outcomes (account, seq);
