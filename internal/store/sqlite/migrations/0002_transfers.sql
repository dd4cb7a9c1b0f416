-- Copies from other databases into this one. mark tells how far a copy has
-- come; null: it is whole.
CREATE TABLE transfers (
    source     TEXT PRIMARY KEY,
    mark       TEXT,
    started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
