-- The outbox of punctual, for MySQL 8.0.16 or later and MariaDB 10.6 or later. Rows of
-- punctual_outbox become jobs once their transaction is committed; the job is the body of
-- POST /api/jobs. It is text and not of the type json, which would change it.

CREATE TABLE punctual_outbox (
	seq          bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
	id           char(36)     CHARACTER SET ascii NOT NULL DEFAULT (uuid()),
	job          longtext     CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	ordering_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	created_at   datetime(6)  NOT NULL DEFAULT (utc_timestamp(6)),
	UNIQUE KEY punctual_outbox_id (id),
	CONSTRAINT punctual_outbox_job_is_json CHECK (json_valid(job)),
	CONSTRAINT punctual_outbox_job_is_at_most_1_mib CHECK (length(job) <= 1048576)
) ENGINE = InnoDB;

-- Rows that were refused for good, and why. Read it, then delete what is settled; an
-- insert of the job into punctual_outbox sends it again.
CREATE TABLE punctual_outbox_failed (
	id           char(36)     CHARACTER SET ascii NOT NULL PRIMARY KEY,
	job          longtext     CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	ordering_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	problem      longtext     CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	failed_at    datetime(6)  NOT NULL DEFAULT (utc_timestamp(6))
) ENGINE = InnoDB;

-- What relays note: which of them is active, and the batch that is under way.
CREATE TABLE punctual_outbox_relay (
	id      varchar(64) CHARACTER SET ascii NOT NULL PRIMARY KEY,
	holder  varchar(64) CHARACTER SET ascii,
	expires bigint,
	sent_at bigint,
	ids     longtext CHARACTER SET ascii
) ENGINE = InnoDB;
INSERT INTO punctual_outbox_relay (id, expires) VALUES ('lease', 0);

-- The relay needs a user with these rights; the application needs INSERT on
-- punctual_outbox.
--   CREATE USER punctual_relay IDENTIFIED BY '…';
--   GRANT SELECT, DELETE ON punctual_outbox TO punctual_relay;
--   GRANT SELECT, INSERT ON punctual_outbox_failed TO punctual_relay;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON punctual_outbox_relay TO punctual_relay;
