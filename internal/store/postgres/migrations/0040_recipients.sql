-- How an account was made: 0 not known (before this migration), 1 by an operator, by
-- invite or as the first, 2 through open sign-up.
ALTER TABLE accounts ADD COLUMN origin smallint NOT NULL DEFAULT 0;

-- The addresses whose owners were asked whether an account's alerts may send e-mails.
-- mailbox is the address without tags; token is a hash. Rows with refused_at hold for
-- all accounts and outlive their own.
CREATE TABLE alert_recipients (
    account      bigint NOT NULL,
    address      text COLLATE "C" NOT NULL,
    mailbox      text COLLATE "C" NOT NULL,
    token        bytea NOT NULL,
    asked_at     bigint NOT NULL,
    confirmed_at bigint,
    refused_at   bigint,
    PRIMARY KEY (account, address)
);

CREATE UNIQUE INDEX alert_recipients_token ON alert_recipients (token);
CREATE INDEX alert_recipients_mailbox ON alert_recipients (mailbox);
CREATE INDEX alert_recipients_waiting ON alert_recipients (asked_at) WHERE confirmed_at IS NULL AND refused_at IS NULL;
