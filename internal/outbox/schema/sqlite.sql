-- The outbox of punctual, for SQLite 3.38 or later. Rows of punctual_outbox become jobs
-- once their transaction is committed; the job is the body of POST /api/jobs.

CREATE TABLE punctual_outbox (
	seq          INTEGER PRIMARY KEY AUTOINCREMENT,
	id           TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
		substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
	job          TEXT NOT NULL,
	ordering_key TEXT,
	created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
	CONSTRAINT punctual_outbox_job_is_json CHECK (json_valid(job)),
	CONSTRAINT punctual_outbox_job_is_at_most_1_mib CHECK (length(CAST(job AS BLOB)) <= 1048576),
	CONSTRAINT punctual_outbox_ordering_key_is_short CHECK (length(ordering_key) <= 1024)
);

-- Rows that were refused for good, and why. Read it, then delete what is settled; an
-- insert of the job into punctual_outbox sends it again.
CREATE TABLE punctual_outbox_failed (
	id           TEXT NOT NULL PRIMARY KEY,
	job          TEXT NOT NULL,
	ordering_key TEXT,
	problem      TEXT NOT NULL,
	failed_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

-- What relays note: which of them is active, and the batch that is under way.
CREATE TABLE punctual_outbox_relay (
	id      TEXT NOT NULL PRIMARY KEY,
	holder  TEXT,
	expires INTEGER,
	sent_at INTEGER,
	ids     TEXT
);
INSERT INTO punctual_outbox_relay (id, expires) VALUES ('lease', 0);
