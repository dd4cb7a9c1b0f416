-- How an OpenID provider knows people.
CREATE TABLE person_identities (
    issuer     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    person     uuid NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE UNIQUE INDEX person_identities_person ON person_identities (person, issuer);

-- The provider's session that a session came from; null for one by a password.
ALTER TABLE sessions ADD COLUMN issuer text;
ALTER TABLE sessions ADD COLUMN subject text;
ALTER TABLE sessions ADD COLUMN sid text;

CREATE INDEX sessions_subject ON sessions (subject, issuer) WHERE subject IS NOT NULL;
CREATE INDEX sessions_sid ON sessions (sid, issuer) WHERE sid IS NOT NULL;

-- The logout tokens that were used, as hashes.
CREATE TABLE logout_tokens (
    hash       bytea  PRIMARY KEY,
    expires_at bigint NOT NULL
);

CREATE INDEX logout_tokens_expired ON logout_tokens (expires_at);

-- 0 not known, 1 must be confirmed before the person signs in, 2 confirmed.
ALTER TABLE people ADD COLUMN email_state integer NOT NULL DEFAULT 0;
