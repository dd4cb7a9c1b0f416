-- The limits of an account in place of the service's; null: the service's
-- limit holds, 0: unlimited.
ALTER TABLE accounts ADD COLUMN max_pending INTEGER;
ALTER TABLE accounts ADD COLUMN max_schedules INTEGER;
ALTER TABLE accounts ADD COLUMN max_stored INTEGER;
ALTER TABLE accounts ADD COLUMN max_rate REAL;
ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;
ALTER TABLE accounts ADD COLUMN suspended_for TEXT;

CREATE INDEX accounts_suspended ON accounts (number) WHERE suspended_at IS NOT NULL;

-- What accounts with limits hold: unfinished one-off jobs, and schedules. An
-- account gets its row when a create with a limit first needs it; from then on
-- the triggers keep it exact. For accounts without a row they do nothing.
CREATE TABLE account_use (
    account   INTEGER PRIMARY KEY,
    pending   INTEGER NOT NULL,
    schedules INTEGER NOT NULL
) STRICT;

CREATE TRIGGER use_job_inserted AFTER INSERT ON jobs WHEN new.schedule_id IS NULL AND new.state <= 2 BEGIN
    UPDATE account_use SET pending = pending + 1 WHERE account = new.account;
END;

CREATE TRIGGER use_job_finished AFTER UPDATE OF state ON jobs WHEN old.schedule_id IS NULL AND old.state <= 2 AND new.state > 2 BEGIN
    UPDATE account_use SET pending = pending - 1 WHERE account = new.account;
END;

CREATE TRIGGER use_job_deleted AFTER DELETE ON jobs WHEN old.schedule_id IS NULL AND old.state <= 2 BEGIN
    UPDATE account_use SET pending = pending - 1 WHERE account = old.account;
END;

CREATE TRIGGER use_schedule_inserted AFTER INSERT ON schedules BEGIN
    UPDATE account_use SET schedules = schedules + 1 WHERE account = new.account;
END;

CREATE TRIGGER use_schedule_deleted AFTER DELETE ON schedules BEGIN
    UPDATE account_use SET schedules = schedules - 1 WHERE account = old.account;
END;
