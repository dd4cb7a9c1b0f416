-- Large pieces of a message's body stand in logs only; parts says which go where.
-- Null: the body is whole.
ALTER TABLE deliveries ADD COLUMN parts TEXT;

CREATE INDEX deliveries_parts ON deliveries (number) WHERE parts IS NOT NULL;

-- One row, written to find out whether the database can be.
CREATE TABLE probes (beat INTEGER NOT NULL) STRICT;
INSERT INTO probes (beat) VALUES (0);
