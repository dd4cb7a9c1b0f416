-- Copies from other databases into this one. mark tells how far a copy has
-- come; null: it is whole.
CREATE TABLE transfers (
    source     text   PRIMARY KEY,
    mark       text,
    started_at bigint NOT NULL
);
