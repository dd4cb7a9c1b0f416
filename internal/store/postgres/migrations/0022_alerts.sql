-- Accounts that have alerts. late_min and late_max bound the late_by of their
-- alerts, in microseconds (0: none has one); wake_at is when the tracker must look at the account again; data
-- belongs to the tracker. The row is locked while the account is tracked.
CREATE TABLE alert_accounts (
    account  bigint PRIMARY KEY,
    late_min bigint NOT NULL,
    late_max bigint NOT NULL,
    wake_at  bigint,
    data     text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX alert_accounts_wake ON alert_accounts (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE alert_revision (
    number   smallint PRIMARY KEY,
    revision bigint   NOT NULL
);

INSERT INTO alert_revision VALUES (1, 1);

CREATE TABLE alerts (
    account     bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    definition  text   NOT NULL,
    match       text   NOT NULL,
    inserted_at bigint NOT NULL,
    updated_at  bigint NOT NULL,
    late_by     bigint NOT NULL,
    wake_at     bigint,
    data        text,
    PRIMARY KEY (account, name)
);

-- What an alert has seen of a schedule, or of all one-off jobs (the nil UUID).
-- kind: 1 failures in a row, 2 a late run.
CREATE TABLE alert_states (
    account  bigint   NOT NULL,
    schedule uuid     NOT NULL,
    alert    text COLLATE "C" NOT NULL,
    kind     smallint NOT NULL,
    job      bigint   NOT NULL,
    wake_at  bigint,
    data     text,
    PRIMARY KEY (account, schedule, alert, kind)
);

CREATE INDEX alert_states_wake ON alert_states (account, wake_at) WHERE wake_at IS NOT NULL;

-- Outcomes of jobs of accounts with alerts, until they are tracked. kind:
-- 1 succeeded, 2 failed, 3 points were skipped.
CREATE TABLE alert_outcomes (
    account  bigint   NOT NULL,
    seq      bigint   GENERATED ALWAYS AS IDENTITY,
    job      bigint   NOT NULL,
    schedule uuid     NOT NULL,
    kind     smallint NOT NULL,
    at       bigint   NOT NULL,
    tags     text     NOT NULL,
    detail   text     NOT NULL,
    PRIMARY KEY (account, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
