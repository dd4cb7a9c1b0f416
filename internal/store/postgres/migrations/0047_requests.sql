-- requests: what creates with a request_id were answered with. id is the id, or a
-- digest of it, and digest is one of the request; job is the id of the job of the
-- answer, which may be removed before the row expires.
CREATE TABLE requests (
	account    bigint NOT NULL,
	id         uuid   NOT NULL,
	digest     bytea  NOT NULL,
	job        uuid   NOT NULL,
	expires_at bigint NOT NULL,
	PRIMARY KEY (account, id)
);
CREATE INDEX requests_expiry ON requests (expires_at);
