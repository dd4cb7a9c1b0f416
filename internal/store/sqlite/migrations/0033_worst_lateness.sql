-- The greatest lateness that a process has counted in a minute, in microseconds.
ALTER TABLE stats ADD COLUMN worst INTEGER NOT NULL DEFAULT 0;
