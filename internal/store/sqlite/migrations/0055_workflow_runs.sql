-- Workflow runs: see workflow.Run. template: the fields of the jobs that a run's messages
-- are. untold: the run that waits for the end of this one does not know it.
CREATE TABLE workflow_runs (
    account      INTEGER NOT NULL,
    id           TEXT NOT NULL,
    url          TEXT NOT NULL,
    state        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    template     TEXT NOT NULL,
    labels       TEXT,
    flow_control TEXT NOT NULL,
    caller_ip    TEXT NOT NULL,
    lazy         INTEGER NOT NULL,
    step_rows    INTEGER NOT NULL,
    step_bytes   INTEGER NOT NULL,
    floor        INTEGER NOT NULL,
    open         INTEGER NOT NULL,
    waits        INTEGER NOT NULL,
    wakes_at     INTEGER,
    result       BLOB,
    error        TEXT NOT NULL,
    failed_job   BLOB,
    failure      BLOB,
    invoker      TEXT,
    untold       INTEGER NOT NULL,
    archived     INTEGER NOT NULL,
    origin       TEXT NOT NULL,
    PRIMARY KEY (account, id)
) STRICT;

CREATE INDEX workflow_runs_created ON workflow_runs (account, created_at, id);
CREATE INDEX workflow_runs_live ON workflow_runs (account) WHERE ended_at IS NULL;
CREATE INDEX workflow_runs_ended ON workflow_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workflow_runs_untold ON workflow_runs (account, id) WHERE untold = 1;

-- Records of the steps of runs: see workflow.Step. waits_for: the event or run that a
-- wait is for, null for others.
CREATE TABLE workflow_steps (
    account    INTEGER NOT NULL,
    run        TEXT NOT NULL,
    position   INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    concurrent INTEGER NOT NULL,
    name       TEXT NOT NULL,
    type       TEXT NOT NULL,
    message    BLOB,
    body       BLOB,
    created_at INTEGER NOT NULL,
    due_at     INTEGER,
    settled    INTEGER NOT NULL,
    waits_for  TEXT,
    PRIMARY KEY (account, run, position)
) STRICT;

CREATE UNIQUE INDEX workflow_steps_key ON workflow_steps (account, run, kind, number);
CREATE INDEX workflow_steps_waiting ON workflow_steps (account, waits_for, run, position) WHERE waits_for IS NOT NULL AND settled = 0;
