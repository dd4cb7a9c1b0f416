-- Runs that a node prepares; node is 0 once it is gone. crashes counts how often
-- a node went away meanwhile.
CREATE TABLE suspects (
    kind    INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    due     INTEGER NOT NULL,
    account INTEGER NOT NULL,
    lane    INTEGER NOT NULL,
    node    INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    PRIMARY KEY (kind, number)
) STRICT, WITHOUT ROWID;
