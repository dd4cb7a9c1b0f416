-- follows: the job with the same key that must end before this pending job may
-- start; it has no row in runs until then, and lane is kept for that row.
-- held_until: until when the job holds its key even if it is final;
-- remembered_until: likewise for calls that send the key in a header. All are
-- null in nearly all jobs, which then cost nothing.
ALTER TABLE jobs ADD COLUMN follows INTEGER;
ALTER TABLE jobs ADD COLUMN lane INTEGER;
ALTER TABLE jobs ADD COLUMN held_until INTEGER;
ALTER TABLE jobs ADD COLUMN remembered_until INTEGER;

CREATE INDEX jobs_followers ON jobs (follows) WHERE follows IS NOT NULL;
CREATE INDEX jobs_remembered ON jobs (account, key, remembered_until) WHERE remembered_until IS NOT NULL;
