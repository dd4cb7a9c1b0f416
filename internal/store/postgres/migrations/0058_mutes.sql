-- Muted schedules, whose failures alerts don't send. until: when it ends; failing_since: of
-- the failures that it acknowledges, which end it when they end. See job.Mute.
CREATE TABLE schedule_mutes (
    account       bigint NOT NULL,
    schedule      uuid NOT NULL,
    until         bigint,
    failing_since bigint,
    note          text,
    muted_at      bigint NOT NULL,
    PRIMARY KEY (account, schedule)
);
