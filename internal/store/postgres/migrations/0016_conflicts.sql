-- follows: the job with the same key that must end before this pending job may
-- start; it has no row in runs until then, and lane is kept for that row.
-- held_until: until when the job holds its key even if it is final;
-- remembered_until: likewise for calls that send the key in a header. All are
-- null in nearly all jobs, which then cost nothing.
ALTER TABLE jobs ADD COLUMN follows bigint;
ALTER TABLE jobs ADD COLUMN lane bigint;
ALTER TABLE jobs ADD COLUMN held_until bigint;
ALTER TABLE jobs ADD COLUMN remembered_until bigint;

CREATE INDEX jobs_followers ON jobs (account, follows) WHERE follows IS NOT NULL;
CREATE INDEX jobs_remembered ON jobs (account, key, remembered_until) WHERE remembered_until IS NOT NULL;

-- Of any number of simultaneous creates with one key, this lets one through, and
-- one more that follows it.
DROP INDEX jobs_held;
CREATE UNIQUE INDEX jobs_held ON jobs (account, key, (follows IS NOT NULL)) WHERE key IS NOT NULL AND state <= 2;
