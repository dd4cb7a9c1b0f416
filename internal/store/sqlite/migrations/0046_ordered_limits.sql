-- ordered: attempts start in the order of their jobs' due times, then of their numbers.
ALTER TABLE limits ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;

-- kept: the job waits for a retry, and keeps its places under ordered limits.
-- limit_items.state: 3 is granted under an ordered limit, and known to have started.
ALTER TABLE limit_items ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;

CREATE INDEX limit_items_kept ON limit_items (account, key, due, number) WHERE kept;

-- A job that follows another waits in no line. Its due time here is after all others,
-- so that it is not the first of an ordered limit before it is released.
UPDATE limit_items SET due = due + 7884000000000000 WHERE state = 0
    AND (account, number) IN (SELECT account, number FROM jobs WHERE follows IS NOT NULL AND state <= 2);
