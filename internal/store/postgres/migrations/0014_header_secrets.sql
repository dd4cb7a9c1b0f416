-- Secrets that header values refer to; value is encrypted, hosts has names
-- separated by commas.
CREATE TABLE header_secrets (
    account    bigint NOT NULL,
    name       text   COLLATE "C" NOT NULL,
    hosts      text   NOT NULL,
    value      text   NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (account, name)
);

-- The secrets that unfinished jobs use.
CREATE TABLE secret_uses (
    account bigint NOT NULL,
    name    text   COLLATE "C" NOT NULL,
    job     bigint NOT NULL,
    PRIMARY KEY (account, name, job)
);
CREATE INDEX secret_uses_job ON secret_uses (account, job);
