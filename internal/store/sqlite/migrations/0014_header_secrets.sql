-- Secrets that header values refer to; value is encrypted, hosts has names
-- separated by commas.
CREATE TABLE header_secrets (
    account    INTEGER NOT NULL,
    name       TEXT NOT NULL,
    hosts      TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- The secrets that unfinished jobs use.
CREATE TABLE secret_uses (
    account INTEGER NOT NULL,
    name    TEXT NOT NULL,
    job     INTEGER NOT NULL,
    PRIMARY KEY (account, name, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX secret_uses_job ON secret_uses (job);
