-- Workflow runs: see workflow.Run. template: the fields of the jobs that a run's messages
-- are. untold: the run that waits for the end of this one does not know it.
CREATE TABLE workflow_runs (
    account      bigint NOT NULL,
    id           text COLLATE "C" NOT NULL,
    url          text NOT NULL,
    state        smallint NOT NULL,
    created_at   bigint NOT NULL,
    ended_at     bigint,
    template     text NOT NULL,
    labels       text,
    flow_control text NOT NULL,
    caller_ip    text NOT NULL,
    lazy         smallint NOT NULL,
    step_rows    bigint NOT NULL,
    step_bytes   bigint NOT NULL,
    floor        bigint NOT NULL,
    open         bigint NOT NULL,
    waits        bigint NOT NULL,
    wakes_at     bigint,
    result       bytea,
    error        text NOT NULL,
    failed_job   uuid,
    failure      uuid,
    invoker      text,
    untold       smallint NOT NULL,
    archived     smallint NOT NULL,
    origin       text NOT NULL,
    PRIMARY KEY (account, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

CREATE INDEX workflow_runs_created ON workflow_runs (account, created_at, id);
CREATE INDEX workflow_runs_live ON workflow_runs (account) WHERE ended_at IS NULL;
CREATE INDEX workflow_runs_ended ON workflow_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workflow_runs_untold ON workflow_runs (account, id) WHERE untold = 1;

-- Records of the steps of runs: see workflow.Step. waits_for: the event or run that a
-- wait is for, null for others.
CREATE TABLE workflow_steps (
    account    bigint NOT NULL,
    run        text COLLATE "C" NOT NULL,
    position   bigint NOT NULL,
    kind       smallint NOT NULL,
    number     bigint NOT NULL,
    concurrent bigint NOT NULL,
    name       text NOT NULL,
    type       text NOT NULL,
    message    uuid,
    body       bytea,
    created_at bigint NOT NULL,
    due_at     bigint,
    settled    smallint NOT NULL,
    waits_for  text COLLATE "C",
    PRIMARY KEY (account, run, position)
);

CREATE UNIQUE INDEX workflow_steps_key ON workflow_steps (account, run, kind, number);
CREATE INDEX workflow_steps_waiting ON workflow_steps (account, waits_for, run, position) WHERE waits_for IS NOT NULL AND settled = 0;
