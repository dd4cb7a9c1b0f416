-- The limits of an account in place of the service's; null: the service's
-- limit holds, 0: unlimited.
ALTER TABLE accounts ADD COLUMN max_pending bigint;
ALTER TABLE accounts ADD COLUMN max_schedules bigint;
ALTER TABLE accounts ADD COLUMN max_stored bigint;
ALTER TABLE accounts ADD COLUMN max_rate double precision;
ALTER TABLE accounts ADD COLUMN suspended_at bigint;
ALTER TABLE accounts ADD COLUMN suspended_for text;

CREATE INDEX accounts_suspended ON accounts (number) WHERE suspended_at IS NOT NULL;

-- How many creates are certain to stay within an account's limits: counted
-- when none are left, used up by creates, not given back by jobs that end. The
-- row is also the lock by which the creates of one account, on all nodes, take
-- turns. Accounts without limits have no row.
CREATE TABLE account_room (
    account       bigint PRIMARY KEY,
    max_pending   bigint NOT NULL DEFAULT 0,
    pending       bigint NOT NULL DEFAULT 0,
    max_schedules bigint NOT NULL DEFAULT 0,
    schedules     bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
