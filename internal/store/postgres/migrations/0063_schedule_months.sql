-- What monthly reports count of the runs of schedules that were due in a month. month: since
-- the year 0, in UTC; through: the number of the last run that was counted by then. See
-- store.ScheduleMonth.
CREATE TABLE schedule_months (
    account  bigint NOT NULL,
    schedule uuid NOT NULL,
    month    bigint NOT NULL,
    through  bigint NOT NULL,
    counts   bytea NOT NULL,
    PRIMARY KEY (account, schedule, month)
);

CREATE INDEX schedule_months_old ON schedule_months (month);

-- When the last job became final that was looked at for runs to count, and its number.
CREATE TABLE schedule_months_mark (
    id     integer PRIMARY KEY,
    at     bigint NOT NULL,
    number bigint NOT NULL
);

INSERT INTO schedule_months_mark (id, at, number) VALUES (1, 0, 0);
