-- People sign in; they belong to accounts with a role. The id of who was there before
-- is the account's. The passwords of accounts, and totps, stay for nodes of the previous
-- version.
CREATE TABLE people (
    id         BLOB PRIMARY KEY,
    email      TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    password   TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE person_totps (
    person       BLOB PRIMARY KEY,
    secret       BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    confirmed_at INTEGER,
    last_step    INTEGER NOT NULL,
    recovery     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- person is null, and hash and expires_at are set, until an invitation is accepted.
CREATE TABLE members (
    id         BLOB PRIMARY KEY,
    account    INTEGER NOT NULL,
    person     BLOB,
    email      TEXT NOT NULL,
    role       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    hash       BLOB,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX members_account ON members (account, email);
CREATE UNIQUE INDEX members_person ON members (person, account) WHERE person IS NOT NULL;
CREATE UNIQUE INDEX members_hash ON members (hash) WHERE hash IS NOT NULL;

INSERT INTO people (id, email, created_at, password)
SELECT id, email, created_at, password FROM accounts WHERE deleted_at IS NULL AND email <> 'public';

INSERT INTO members (id, account, person, email, role, created_at)
SELECT id, number, id, email, 'owner', created_at FROM accounts WHERE deleted_at IS NULL AND email <> 'public';

INSERT INTO person_totps (person, secret, created_at, confirmed_at, last_step, recovery)
SELECT a.id, t.secret, t.created_at, t.confirmed_at, t.last_step, t.recovery FROM totps t JOIN accounts a ON a.number = t.account
WHERE a.deleted_at IS NULL AND a.email <> 'public';

-- Origin 3: of the public key, without people.
UPDATE accounts SET origin = 3 WHERE email = 'public';

ALTER TABLE sessions ADD COLUMN person BLOB;

UPDATE sessions SET person = (SELECT id FROM accounts WHERE number = sessions.account);

CREATE INDEX sessions_person ON sessions (person);

-- Who made a key, and the role that it is limited to; null for an owner's.
ALTER TABLE keys ADD COLUMN made_by TEXT;
ALTER TABLE keys ADD COLUMN ceiling TEXT;
