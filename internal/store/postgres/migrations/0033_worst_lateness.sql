-- The greatest lateness that a process has counted in a minute, in microseconds.
-- Nodes of the previous version leave it out.
ALTER TABLE stats ADD COLUMN worst bigint NOT NULL DEFAULT 0;
