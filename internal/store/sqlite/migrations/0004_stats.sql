-- What a process has counted of an account's runs in a minute (since 1970).
CREATE TABLE stats (
    account   INTEGER NOT NULL,
    minute    INTEGER NOT NULL,
    source    INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    lateness  BLOB NOT NULL,
    duration  BLOB NOT NULL,
    PRIMARY KEY (account, minute, source)
) STRICT, WITHOUT ROWID;

CREATE INDEX stats_old ON stats (minute);
