-- How an account was made: 0 not known (before this migration), 1 by an operator, by
-- invite or as the first, 2 through open sign-up.
ALTER TABLE accounts ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;

-- The addresses whose owners were asked whether an account's alerts may send e-mails.
-- mailbox is the address without tags; token is a hash. Rows with refused_at hold for
-- all accounts and outlive their own.
CREATE TABLE alert_recipients (
    account      INTEGER NOT NULL,
    address      TEXT NOT NULL,
    mailbox      TEXT NOT NULL,
    token        BLOB NOT NULL,
    asked_at     INTEGER NOT NULL,
    confirmed_at INTEGER,
    refused_at   INTEGER,
    PRIMARY KEY (account, address)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX alert_recipients_token ON alert_recipients (token);
CREATE INDEX alert_recipients_mailbox ON alert_recipients (mailbox);
CREATE INDEX alert_recipients_waiting ON alert_recipients (asked_at) WHERE confirmed_at IS NULL AND refused_at IS NULL;
