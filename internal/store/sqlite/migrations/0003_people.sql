-- Of a deleted account its number and id stay, so that neither is given again;
-- purged_at tells when the last of its records was removed.
ALTER TABLE accounts ADD COLUMN password TEXT;
ALTER TABLE accounts ADD COLUMN operator INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN deleted_at INTEGER;
ALTER TABLE accounts ADD COLUMN purged_at INTEGER;

CREATE INDEX accounts_purge ON accounts (number) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

CREATE TABLE sessions (
    hash       BLOB PRIMARY KEY,
    account    INTEGER NOT NULL REFERENCES accounts,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_account ON sessions (account);
CREATE INDEX sessions_expired ON sessions (expires_at);

CREATE TABLE invites (
    hash       BLOB PRIMARY KEY,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX invites_expired ON invites (expires_at);
