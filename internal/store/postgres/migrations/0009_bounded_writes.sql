-- Large pieces of a message's body stand in logs only; parts says which go where.
-- Null: the body is whole.
ALTER TABLE deliveries ADD COLUMN parts text;

-- One row, written to find out whether the database can be.
CREATE TABLE probes (beat bigint NOT NULL) WITH (fillfactor = 10);
INSERT INTO probes (beat) VALUES (0);
