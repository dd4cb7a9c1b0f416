-- Groups of targets. targets: see job.ReadTargets.
CREATE TABLE target_groups (
    account     bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    targets     text NOT NULL,
    inserted_at bigint NOT NULL,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (account, name)
);

-- parent: the run with a group that became this job.
ALTER TABLE jobs ADD COLUMN parent bigint;

CREATE INDEX jobs_parent ON jobs (account, parent, number) WHERE parent IS NOT NULL;
