-- The email that a link sets, of one that changes it.
ALTER TABLE mail_tokens ADD COLUMN email TEXT;
