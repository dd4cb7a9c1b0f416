-- How attempts are completed by their targets. token: the SHA-256 hash of the
-- token. state: 0 sent, 1 awaiting, 2 over; see job.Completion. The queue item of an
-- awaiting attempt stays claimed, by the node 9223372036854775807.
CREATE TABLE completions (
    token      bytea    PRIMARY KEY,
    account    bigint   NOT NULL,
    job        bigint   NOT NULL,
    attempt    integer  NOT NULL,
    started_at bigint   NOT NULL,
    within     bigint   NOT NULL,
    heartbeat  bigint   NOT NULL,
    epoch      bigint   NOT NULL,
    state      smallint NOT NULL,
    deadline   bigint,
    heard_at   bigint   NOT NULL,
    reported   bytea,
    early      text,
    progress   text,
    request    uuid     NOT NULL,
    response   uuid
) WITH (fillfactor = 80);

CREATE INDEX completions_job ON completions (account, job);
CREATE INDEX completions_deadline ON completions (deadline) WHERE deadline IS NOT NULL;
