-- Targets that operators have blocked for all accounts.
CREATE TABLE blocked_targets (
    target     text   PRIMARY KEY,
    reason     text   NOT NULL,
    blocked_at bigint NOT NULL
);

-- How many jobs made one another up to this one.
ALTER TABLE jobs ADD COLUMN hops smallint NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN hops smallint NOT NULL DEFAULT 0;
