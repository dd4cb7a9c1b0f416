-- key_request: a digest of the call that sent the job's key in the header
-- Idempotency-Key, 16 bytes; NULL if the key was not sent so.
ALTER TABLE jobs ADD COLUMN key_request bytea;
