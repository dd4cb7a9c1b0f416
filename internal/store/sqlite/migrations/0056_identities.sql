-- How an OpenID provider knows people.
CREATE TABLE person_identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    person     BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX person_identities_person ON person_identities (person, issuer);

-- The provider's session that a session came from; null for one by a password.
ALTER TABLE sessions ADD COLUMN issuer TEXT;
ALTER TABLE sessions ADD COLUMN subject TEXT;
ALTER TABLE sessions ADD COLUMN sid TEXT;

CREATE INDEX sessions_subject ON sessions (subject, issuer) WHERE subject IS NOT NULL;
CREATE INDEX sessions_sid ON sessions (sid, issuer) WHERE sid IS NOT NULL;

-- The logout tokens that were used, as hashes.
CREATE TABLE logout_tokens (
    hash       BLOB PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX logout_tokens_expired ON logout_tokens (expires_at);

-- 0 not known, 1 must be confirmed before the person signs in, 2 confirmed.
ALTER TABLE people ADD COLUMN email_state INTEGER NOT NULL DEFAULT 0;
