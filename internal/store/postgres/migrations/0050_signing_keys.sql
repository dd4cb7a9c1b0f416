-- Private keys, perhaps encrypted: the Ed25519 key beside each signing secret of an
-- account, whose number is the time of that secret, and for account 0 those that sign
-- tokens.
CREATE TABLE signing_keys (
    account    bigint NOT NULL,
    number     bigint NOT NULL,
    private    text   NOT NULL,
    created_at bigint NOT NULL,
    signs_at   bigint NOT NULL,
    ends_at    bigint,
    PRIMARY KEY (account, number)
);
