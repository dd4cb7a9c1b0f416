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
