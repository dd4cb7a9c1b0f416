-- host: the host name of the url in args, in lower case and without the port.
-- tags: the tags in args, a JSON array; null if there are none, and then nothing
-- else is written. Both are null in jobs stored before this version.
ALTER TABLE jobs ADD COLUMN host TEXT;
ALTER TABLE jobs ADD COLUMN tags TEXT;
ALTER TABLE schedules ADD COLUMN tags TEXT;

-- Every index ends with the row's number.
CREATE INDEX jobs_host ON jobs (account, host) WHERE host IS NOT NULL;
CREATE INDEX jobs_name ON jobs (account, name) WHERE name IS NOT NULL;

CREATE TABLE job_tags (
    account INTEGER NOT NULL,
    tag     TEXT NOT NULL,
    number  INTEGER NOT NULL,
    PRIMARY KEY (account, tag, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedule_tags (
    account INTEGER NOT NULL,
    tag     TEXT NOT NULL,
    id      BLOB NOT NULL,
    PRIMARY KEY (account, tag, id)
) STRICT, WITHOUT ROWID;

-- Triggers keep these tables current, whichever statement writes a record.
CREATE TRIGGER job_tags_insert AFTER INSERT ON jobs WHEN new.tags IS NOT NULL BEGIN
    INSERT INTO job_tags (account, tag, number) SELECT new.account, value, new.number FROM json_each(new.tags);
END;
CREATE TRIGGER job_tags_delete AFTER DELETE ON jobs WHEN old.tags IS NOT NULL BEGIN
    DELETE FROM job_tags WHERE account = old.account AND number = old.number AND tag IN (SELECT value FROM json_each(old.tags));
END;
CREATE TRIGGER job_tags_update AFTER UPDATE OF tags ON jobs WHEN new.tags IS NOT old.tags BEGIN
    DELETE FROM job_tags WHERE account = old.account AND number = old.number AND tag IN (SELECT value FROM json_each(old.tags));
    INSERT INTO job_tags (account, tag, number) SELECT new.account, value, new.number FROM json_each(new.tags);
END;

CREATE TRIGGER schedule_tags_insert AFTER INSERT ON schedules WHEN new.tags IS NOT NULL BEGIN
    INSERT INTO schedule_tags (account, tag, id) SELECT new.account, value, new.id FROM json_each(new.tags);
END;
CREATE TRIGGER schedule_tags_delete AFTER DELETE ON schedules WHEN old.tags IS NOT NULL BEGIN
    DELETE FROM schedule_tags WHERE account = old.account AND id = old.id AND tag IN (SELECT value FROM json_each(old.tags));
END;
CREATE TRIGGER schedule_tags_update AFTER UPDATE OF tags ON schedules WHEN new.tags IS NOT old.tags BEGIN
    DELETE FROM schedule_tags WHERE account = old.account AND id = old.id AND tag IN (SELECT value FROM json_each(old.tags));
    INSERT INTO schedule_tags (account, tag, id) SELECT new.account, value, new.id FROM json_each(new.tags);
END;
