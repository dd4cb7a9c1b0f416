-- What failed lately, by account. Jobs that do not fail are not in it.
CREATE INDEX jobs_failed ON jobs (account, discarded_at, number) WHERE discarded_at IS NOT NULL;
