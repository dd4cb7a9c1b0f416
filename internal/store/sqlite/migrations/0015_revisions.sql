-- revision: how many definitions a record has had; 1 until it is edited. A queue
-- item has its job's, so that a claim with an older one fails. rerun_of: the number
-- of the job that this one repeats.
ALTER TABLE jobs ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN rerun_of INTEGER;
ALTER TABLE schedules ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;

CREATE INDEX jobs_rerun ON jobs (rerun_of, number) WHERE rerun_of IS NOT NULL;
CREATE INDEX schedules_key ON schedules (account, key) WHERE key IS NOT NULL;

-- The edits of jobs and schedules, by the id of the record.
CREATE TABLE revisions (
    account    INTEGER NOT NULL,
    record     BLOB NOT NULL,
    revision   INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    changes    TEXT NOT NULL,
    PRIMARY KEY (account, record, revision)
) STRICT, WITHOUT ROWID;
