-- Retention goes on behind the last job that it has examined, also where many became
-- final at the same time.
DROP INDEX jobs_final;
CREATE INDEX jobs_final ON jobs (coalesce(completed_at, cancelled_at, discarded_at), number) WHERE state >= 4;
