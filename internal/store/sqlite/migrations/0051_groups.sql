-- Groups of targets. targets: see job.ReadTargets.
CREATE TABLE target_groups (
    account     INTEGER NOT NULL,
    name        TEXT NOT NULL,
    targets     TEXT NOT NULL,
    inserted_at INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- parent: the run with a group that became this job.
ALTER TABLE jobs ADD COLUMN parent INTEGER;

CREATE INDEX jobs_parent ON jobs (account, parent, number) WHERE parent IS NOT NULL;
