-- What a process has counted of an account's runs in a minute (since 1970).
CREATE TABLE stats (
    account   bigint NOT NULL,
    minute    bigint NOT NULL,
    source    bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed    bigint NOT NULL,
    lateness  bytea  NOT NULL,
    duration  bytea  NOT NULL,
    PRIMARY KEY (account, minute, source)
) WITH (fillfactor = 80);

CREATE INDEX stats_old ON stats (minute);
