-- The listeners that are connected to nodes, and the requests for those of other
-- nodes. Nothing here need survive a crash of the server, so it costs no log.
CREATE UNLOGGED TABLE listeners (
    id       uuid PRIMARY KEY,
    node     bigint NOT NULL,
    account  bigint NOT NULL,
    name     text COLLATE "C" NOT NULL,
    tag      text COLLATE "C" NOT NULL,
    since    bigint NOT NULL,
    draining boolean NOT NULL
);

CREATE INDEX listeners_account ON listeners (account, name);

CREATE UNLOGGED TABLE listener_requests (
    id         uuid PRIMARY KEY,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    listener   uuid NOT NULL,
    taken      boolean NOT NULL DEFAULT false,
    expires_at bigint NOT NULL,
    request    bytea NOT NULL,
    answer     bytea
);

ALTER TABLE listener_requests ALTER COLUMN request SET STORAGE EXTERNAL, ALTER COLUMN answer SET STORAGE EXTERNAL;

CREATE INDEX listener_requests_waiting ON listener_requests (listener, number) WHERE NOT taken;
CREATE INDEX listener_requests_expiry ON listener_requests (expires_at);
