-- scope: read, jobs or admin. Keys made before there were scopes permit
-- everything. cidrs: networks, separated by commas; null for any.
ALTER TABLE keys ADD COLUMN scope TEXT NOT NULL DEFAULT 'admin';
ALTER TABLE keys ADD COLUMN expires_at INTEGER;
ALTER TABLE keys ADD COLUMN cidrs TEXT;

-- pending: the password was right, the second factor has not been given.
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;

-- recovery: hashes of 32 bytes, one after the other.
CREATE TABLE totps (
    account      INTEGER PRIMARY KEY REFERENCES accounts,
    secret       BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    confirmed_at INTEGER,
    last_step    INTEGER NOT NULL,
    recovery     BLOB NOT NULL
) STRICT;

-- account 0 is the service. class: 0 what happened once, 1 what repeats (slot is
-- set). Entries of an account and class are numbered without gaps at the end, so
-- that what exceeds a bound is found without counting.
CREATE TABLE audits (
    account     INTEGER NOT NULL,
    class       INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    id          BLOB NOT NULL,
    slot        TEXT,
    event       TEXT NOT NULL,
    actor_kind  TEXT NOT NULL,
    actor_name  TEXT NOT NULL,
    address     TEXT NOT NULL,
    detail      TEXT NOT NULL,
    count       INTEGER NOT NULL,
    inserted_at INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    PRIMARY KEY (account, class, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX audits_list ON audits (account, id);
CREATE UNIQUE INDEX audits_slot ON audits (account, slot) WHERE slot IS NOT NULL;
CREATE INDEX audits_old ON audits (last_at);
