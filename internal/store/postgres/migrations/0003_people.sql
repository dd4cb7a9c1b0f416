-- Of a deleted account its number and id stay, so that neither is given again;
-- purged_at tells when the last of its records was removed.
ALTER TABLE accounts ADD COLUMN password text;
ALTER TABLE accounts ADD COLUMN operator boolean NOT NULL DEFAULT false;
ALTER TABLE accounts ADD COLUMN deleted_at bigint;
ALTER TABLE accounts ADD COLUMN purged_at bigint;

CREATE INDEX accounts_purge ON accounts (number) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

CREATE TABLE sessions (
    hash       bytea  PRIMARY KEY,
    account    bigint NOT NULL REFERENCES accounts,
    created_at bigint NOT NULL,
    seen_at    bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE INDEX sessions_account ON sessions (account);
CREATE INDEX sessions_expired ON sessions (expires_at);

CREATE TABLE invites (
    hash       bytea  PRIMARY KEY,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    used_at    bigint
);

CREATE INDEX invites_expired ON invites (expires_at);
