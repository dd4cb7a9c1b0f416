-- requests: what creates with a request_id were answered with. id is the id, or a
-- digest of it, and digest is one of the request; job is the id of the job of the
-- answer, which may be removed before the row expires.
CREATE TABLE requests (
	account    INTEGER NOT NULL,
	id         BLOB    NOT NULL,
	digest     BLOB    NOT NULL,
	job        BLOB    NOT NULL,
	expires_at INTEGER NOT NULL,
	PRIMARY KEY (account, id)
) WITHOUT ROWID;
CREATE INDEX requests_expiry ON requests (expires_at);
