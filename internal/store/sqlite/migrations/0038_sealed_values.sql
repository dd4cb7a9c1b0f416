-- The values of secrets that were sent with an attempt, encrypted with the token by
-- which its target completes it; NULL if there are none, and once it is over.
ALTER TABLE completions ADD COLUMN sealed BLOB;
