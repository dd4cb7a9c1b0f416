-- Links that were sent to people by e-mail, one of a purpose for each; hash is that of the
-- token in the link.
CREATE TABLE mail_tokens (
    person     uuid   NOT NULL,
    purpose    text   NOT NULL,
    hash       bytea  NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (person, purpose)
);

CREATE UNIQUE INDEX mail_tokens_hash ON mail_tokens (hash);
CREATE INDEX mail_tokens_expired ON mail_tokens (expires_at);
