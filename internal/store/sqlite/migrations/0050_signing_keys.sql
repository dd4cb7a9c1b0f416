-- Private keys, perhaps encrypted: the Ed25519 key beside each signing secret of an
-- account, whose number is the time of that secret, and for account 0 those that sign
-- tokens.
CREATE TABLE signing_keys (
    account    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    private    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    signs_at   INTEGER NOT NULL,
    ends_at    INTEGER,
    PRIMARY KEY (account, number)
) STRICT, WITHOUT ROWID;
