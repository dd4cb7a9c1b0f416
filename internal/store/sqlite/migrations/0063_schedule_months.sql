-- What monthly reports count of the runs of schedules that were due in a month. month: since
-- the year 0, in UTC; through: the number of the last run that was counted by then. See
-- store.ScheduleMonth.
CREATE TABLE schedule_months (
    account  INTEGER NOT NULL,
    schedule BLOB NOT NULL,
    month    INTEGER NOT NULL,
    through  INTEGER NOT NULL,
    counts   BLOB NOT NULL,
    PRIMARY KEY (account, schedule, month)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedule_months_old ON schedule_months (month);

-- When the last job became final that was looked at for runs to count, and its number.
CREATE TABLE schedule_months_mark (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    number INTEGER NOT NULL
) STRICT;

INSERT INTO schedule_months_mark (id, at, number) VALUES (1, 0, 0);
