-- host: the host name of the url in args, in lower case and without the port.
-- tags: the tags in args; null if there are none, and then nothing else is
-- written. Both are null in jobs stored before this version, or by a node of an
-- earlier one.
ALTER TABLE jobs ADD COLUMN host text;
ALTER TABLE jobs ADD COLUMN tags text[];
ALTER TABLE schedules ADD COLUMN tags text[];

CREATE INDEX jobs_host ON jobs (account, host, number) WHERE host IS NOT NULL;
CREATE INDEX jobs_name ON jobs (account, name, number) WHERE name IS NOT NULL;

CREATE TABLE job_tags (
    account bigint NOT NULL,
    tag     text   NOT NULL,
    number  bigint NOT NULL,
    PRIMARY KEY (account, tag, number)
);

CREATE TABLE schedule_tags (
    account bigint NOT NULL,
    tag     text   NOT NULL,
    id      uuid   NOT NULL,
    PRIMARY KEY (account, tag, id)
);

-- Triggers keep these tables current, whichever statement writes a record.
CREATE FUNCTION keep_job_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM job_tags t WHERE t.account = OLD.account AND t.tag = ANY (OLD.tags) AND t.number = OLD.number;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO job_tags (account, tag, number) SELECT NEW.account, tag, NEW.number FROM unnest(NEW.tags) AS tag;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER job_tags_insert AFTER INSERT ON jobs FOR EACH ROW WHEN (NEW.tags IS NOT NULL) EXECUTE FUNCTION keep_job_tags();
CREATE TRIGGER job_tags_delete AFTER DELETE ON jobs FOR EACH ROW WHEN (OLD.tags IS NOT NULL) EXECUTE FUNCTION keep_job_tags();
CREATE TRIGGER job_tags_update AFTER UPDATE OF tags ON jobs FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION keep_job_tags();

CREATE FUNCTION keep_schedule_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM schedule_tags t WHERE t.account = OLD.account AND t.tag = ANY (OLD.tags) AND t.id = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO schedule_tags (account, tag, id) SELECT NEW.account, tag, NEW.id FROM unnest(NEW.tags) AS tag;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER schedule_tags_insert AFTER INSERT ON schedules FOR EACH ROW WHEN (NEW.tags IS NOT NULL) EXECUTE FUNCTION keep_schedule_tags();
CREATE TRIGGER schedule_tags_delete AFTER DELETE ON schedules FOR EACH ROW WHEN (OLD.tags IS NOT NULL) EXECUTE FUNCTION keep_schedule_tags();
CREATE TRIGGER schedule_tags_update AFTER UPDATE OF tags ON schedules FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION keep_schedule_tags();
