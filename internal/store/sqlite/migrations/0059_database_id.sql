-- Names this database and its backups; see numbers.go.
CREATE TABLE database_id (id TEXT NOT NULL) STRICT;
INSERT INTO database_id (id) VALUES (lower(hex(randomblob(16))));
