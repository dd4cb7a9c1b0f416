-- Runs that a node prepares; node is 0 once it is gone. crashes counts how often
-- a node went away meanwhile.
CREATE TABLE suspects (
    kind    smallint NOT NULL,
    number  bigint   NOT NULL,
    account bigint   NOT NULL,
    due     bigint   NOT NULL,
    lane    bigint   NOT NULL,
    node    bigint   NOT NULL,
    crashes integer  NOT NULL,
    PRIMARY KEY (kind, number, account)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
