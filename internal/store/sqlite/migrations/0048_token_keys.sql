-- The two keys that sign tokens for receivers of the QStash API, the current and the
-- next one, separated by a space; perhaps encrypted. NULL until they are needed.
ALTER TABLE accounts ADD COLUMN token_keys TEXT;
