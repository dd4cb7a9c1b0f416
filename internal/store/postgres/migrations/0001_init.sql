CREATE TABLE accounts (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid   NOT NULL UNIQUE,
    email      text   NOT NULL UNIQUE,
    created_at bigint NOT NULL
);

CREATE TABLE secrets (
    account    bigint NOT NULL REFERENCES accounts,
    created_at bigint NOT NULL,
    value      text   NOT NULL,
    expires_at bigint,
    PRIMARY KEY (account, created_at, value)
);

CREATE TABLE keys (
    id           uuid   PRIMARY KEY,
    account      bigint NOT NULL REFERENCES accounts,
    name         text   NOT NULL,
    prefix       text   NOT NULL,
    hash         bytea  NOT NULL UNIQUE,
    created_at   bigint NOT NULL,
    last_used_at bigint,
    revoked_at   bigint
);

CREATE INDEX keys_account ON keys (account, created_at);

-- Everything below is keyed by account first, so that it can be distributed by
-- it. Text that lists are sorted by is compared by code point, as in SQLite.
CREATE TABLE schedules (
    account     bigint NOT NULL,
    id          uuid   NOT NULL,
    key         text,
    name        text COLLATE "C",
    description text,
    inserted_at bigint NOT NULL,
    disabled_at bigint,
    first_due   bigint NOT NULL,
    epoch       bigint NOT NULL,
    args        text   NOT NULL,
    state       text,
    previous    text,
    PRIMARY KEY (account, id)
) WITH (fillfactor = 80);

CREATE INDEX schedules_key ON schedules (account, key) WHERE key IS NOT NULL;

-- state: 1 available, 2 retryable, 4 completed, 5 cancelled, 6 discarded.
-- A job executes (3) while its run is claimed and begun; that is never stored.
CREATE SEQUENCE job_numbers;

CREATE TABLE jobs (
    account      bigint   NOT NULL,
    number       bigint   NOT NULL,
    id           uuid     NOT NULL,
    state        smallint NOT NULL,
    schedule_id  uuid,
    key          text,
    inserted_at  bigint   NOT NULL,
    scheduled_at bigint   NOT NULL,
    due_at       bigint   NOT NULL,
    attempted_at bigint,
    completed_at bigint,
    cancelled_at bigint,
    discarded_at bigint,
    name         text,
    description  text,
    args         text     NOT NULL,
    PRIMARY KEY (account, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE UNIQUE INDEX jobs_id ON jobs (account, id);
CREATE INDEX jobs_list ON jobs (account, state, number);
CREATE INDEX jobs_key ON jobs (account, key, number) WHERE key IS NOT NULL;
CREATE INDEX jobs_schedule ON jobs (account, schedule_id, number) WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_final ON jobs (coalesce(completed_at, cancelled_at, discarded_at)) WHERE state >= 4;
-- Of any number of simultaneous creates with one key, this lets one through.
CREATE UNIQUE INDEX jobs_held ON jobs (account, key) WHERE key IS NOT NULL AND state <= 2;

-- The queue. kind: 0 a job's attempt, 1 a delivery. attempt counts the
-- attempts begun, the claimed one included. Rows live for seconds and are
-- rewritten once: vacuum has to keep up.
CREATE TABLE runs (
    due      bigint   NOT NULL,
    kind     smallint NOT NULL,
    number   bigint   NOT NULL,
    account  bigint   NOT NULL,
    lane     bigint   NOT NULL,
    attempt  integer  NOT NULL,
    node     bigint   NOT NULL DEFAULT 0,
    begin_at bigint,
    log      uuid,
    PRIMARY KEY (due, kind, number, account)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0);

CREATE INDEX runs_claimed ON runs (account, number) WHERE node > 0;

-- Messages to callbacks (channel 1) and webhooks (2). due is null while an
-- earlier event of the job has not been tried; attempt counts finished tries.
CREATE SEQUENCE delivery_numbers;

CREATE TABLE deliveries (
    account     bigint   NOT NULL,
    number      bigint   NOT NULL,
    message     text     NOT NULL,
    job         bigint   NOT NULL,
    job_attempt integer  NOT NULL,
    channel     smallint NOT NULL,
    lane        bigint   NOT NULL,
    url         text     NOT NULL,
    event       text     NOT NULL,
    attempt     integer  NOT NULL,
    due         bigint,
    begin_at    bigint   NOT NULL,
    body        text     NOT NULL,
    PRIMARY KEY (account, number)
) WITH (fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX deliveries_job ON deliveries (account, job, number);

-- event: see events in logs.go.
CREATE TABLE logs (
    account     bigint   NOT NULL,
    id          uuid     NOT NULL,
    job         bigint   NOT NULL,
    event       smallint NOT NULL,
    inserted_at bigint   NOT NULL,
    payload     text     NOT NULL,
    PRIMARY KEY (account, id)
);

CREATE INDEX logs_job ON logs (account, job, id);
CREATE INDEX logs_event ON logs (account, event, id) WHERE event >= 3;

-- Nodes that live; beat_at is by this server's clock. Whoever finds one silent
-- for too long deletes its row, which abandons its claims.
CREATE TABLE nodes (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at bigint NOT NULL,
    beat_at    bigint NOT NULL
) WITH (fillfactor = 50);

-- Jobs that were ended while a node had claimed them, until that node has read it.
CREATE TABLE cancels (
    node   bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (node, number)
);
