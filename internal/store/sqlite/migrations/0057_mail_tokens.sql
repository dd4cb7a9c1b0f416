-- Links that were sent to people by e-mail, one of a purpose for each; hash is that of the
-- token in the link.
CREATE TABLE mail_tokens (
    person     BLOB NOT NULL,
    purpose    TEXT NOT NULL,
    hash       BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (person, purpose)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX mail_tokens_hash ON mail_tokens (hash);
CREATE INDEX mail_tokens_expired ON mail_tokens (expires_at);
