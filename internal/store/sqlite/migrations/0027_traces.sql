-- trace: the span of the call that created the job: trace id, span id and flags,
-- 25 bytes; NULL if the call was not traced.
ALTER TABLE jobs ADD COLUMN trace BLOB;
