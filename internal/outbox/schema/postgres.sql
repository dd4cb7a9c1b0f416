-- The outbox of punctual, for PostgreSQL 13 or later. Run it as the owner of the
-- application's tables. Rows of punctual_outbox become jobs once their transaction is
-- committed; the job is the body of POST /api/jobs.

CREATE FUNCTION punctual_outbox_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
	-- A UUID of version 7: it begins with the time.
	SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
		PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- tx and seq say which rows the relay has not seen: tx must stand before seq, since
-- defaults are computed in this order. Leave both to their defaults.
CREATE TABLE punctual_outbox (
	id           uuid        PRIMARY KEY DEFAULT punctual_outbox_id(),
	job          json        NOT NULL CONSTRAINT punctual_outbox_job_is_at_most_1_mib CHECK (octet_length(job::text) <= 1048576),
	ordering_key text        CONSTRAINT punctual_outbox_ordering_key_is_short CHECK (octet_length(ordering_key) <= 1024),
	created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
	tx           xid8        NOT NULL DEFAULT pg_current_xact_id(),
	seq          bigint      NOT NULL GENERATED ALWAYS AS IDENTITY
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_insert_threshold = -1);
CREATE UNIQUE INDEX punctual_outbox_seq ON punctual_outbox (seq);
CREATE INDEX punctual_outbox_tx ON punctual_outbox (tx);

-- Rows that were refused for good, and why. Read it, then delete what is settled; an
-- insert of the job into punctual_outbox sends it again.
CREATE TABLE punctual_outbox_failed (
	id           uuid        PRIMARY KEY,
	job          json        NOT NULL,
	ordering_key text,
	problem      json        NOT NULL,
	failed_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What relays note: which of them is active, and the batch that is under way.
CREATE TABLE punctual_outbox_relay (
	id      text   PRIMARY KEY,
	holder  text,
	expires bigint,
	sent_at bigint,
	ids     text
);
INSERT INTO punctual_outbox_relay (id, expires) VALUES ('lease', 0);

CREATE FUNCTION punctual_enqueue(job json, ordering_key text DEFAULT NULL) RETURNS uuid LANGUAGE sql VOLATILE AS $$
	INSERT INTO punctual_outbox (job, ordering_key) VALUES ($1, $2) RETURNING id
$$;

-- Wakes the relay at the commit. Without the trigger it polls.
CREATE FUNCTION punctual_outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('punctual_outbox', '');
	RETURN NULL;
END
$$;
CREATE TRIGGER punctual_outbox_notify AFTER INSERT ON punctual_outbox FOR EACH STATEMENT EXECUTE FUNCTION punctual_outbox_notify();

-- The relay needs a role with these rights; the application needs INSERT (and SELECT of
-- id, which punctual_enqueue returns) on punctual_outbox.
--   CREATE ROLE punctual_relay LOGIN PASSWORD '…';
--   GRANT SELECT, DELETE ON punctual_outbox TO punctual_relay;
--   GRANT SELECT, INSERT ON punctual_outbox_failed TO punctual_relay;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON punctual_outbox_relay TO punctual_relay;
