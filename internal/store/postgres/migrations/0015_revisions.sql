-- revision: how many definitions a record has had; 1 until it is edited. A queue
-- item has its job's, so that a claim with an older one fails. rerun_of: the number
-- of the job that this one repeats.
ALTER TABLE jobs ADD COLUMN revision bigint NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN rerun_of bigint;
ALTER TABLE schedules ADD COLUMN revision bigint NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN revision bigint NOT NULL DEFAULT 1;

CREATE INDEX jobs_rerun ON jobs (account, rerun_of, number) WHERE rerun_of IS NOT NULL;

-- The edits of jobs and schedules, by the id of the record.
CREATE TABLE revisions (
    account    bigint NOT NULL,
    record     uuid   NOT NULL,
    revision   bigint NOT NULL,
    changed_at bigint NOT NULL,
    actor      text   NOT NULL,
    changes    text   NOT NULL,
    PRIMARY KEY (account, record, revision)
);

-- A cancel of a node of an earlier version ends any claim.
ALTER TABLE cancels ADD COLUMN revision bigint NOT NULL DEFAULT 9223372036854775807;
