-- scope: read, jobs or admin. Keys made before there were scopes permit
-- everything. cidrs: networks, separated by commas; null for any.
ALTER TABLE keys ADD COLUMN scope text NOT NULL DEFAULT 'admin';
ALTER TABLE keys ADD COLUMN expires_at bigint;
ALTER TABLE keys ADD COLUMN cidrs text;

-- pending: the password was right, the second factor has not been given.
ALTER TABLE sessions ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN agent text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN pending boolean NOT NULL DEFAULT false;

-- recovery: hashes of 32 bytes, one after the other.
CREATE TABLE totps (
    account      bigint PRIMARY KEY REFERENCES accounts,
    secret       bytea  NOT NULL,
    created_at   bigint NOT NULL,
    confirmed_at bigint,
    last_step    bigint NOT NULL,
    recovery     bytea  NOT NULL
);

-- account 0 is the service. class: 0 what happened once, 1 what repeats (slot is
-- set). Entries of an account and class are numbered by audit_counts, so that
-- what exceeds a bound is found without counting.
CREATE TABLE audits (
    account     bigint   NOT NULL,
    class       smallint NOT NULL,
    seq         bigint   NOT NULL,
    id          uuid     NOT NULL,
    slot        text,
    event       text     NOT NULL,
    actor_kind  text     NOT NULL,
    actor_name  text     NOT NULL,
    address     text     NOT NULL,
    detail      text     NOT NULL,
    count       bigint   NOT NULL,
    inserted_at bigint   NOT NULL,
    last_at     bigint   NOT NULL,
    PRIMARY KEY (account, class, seq)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX audits_list ON audits (account, id);
CREATE UNIQUE INDEX audits_slot ON audits (account, slot) WHERE slot IS NOT NULL;
CREATE INDEX audits_old ON audits (last_at);

CREATE TABLE audit_counts (
    account bigint   NOT NULL,
    class   smallint NOT NULL,
    last    bigint   NOT NULL,
    PRIMARY KEY (account, class)
) WITH (fillfactor = 50);
