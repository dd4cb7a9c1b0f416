-- The limits of an account in place of the service's; null: the service's
-- limit holds, 0: unlimited.
ALTER TABLE accounts ADD COLUMN max_pending INTEGER;
ALTER TABLE accounts ADD COLUMN max_schedules INTEGER;
ALTER TABLE accounts ADD COLUMN max_stored INTEGER;
ALTER TABLE accounts ADD COLUMN max_rate REAL;
ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;
ALTER TABLE accounts ADD COLUMN suspended_for TEXT;

CREATE INDEX accounts_suspended ON accounts (number) WHERE suspended_at IS NOT NULL;
