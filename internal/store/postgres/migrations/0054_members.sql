-- People sign in; they belong to accounts with a role. The id of who was there before
-- is the account's. The passwords of accounts, and totps, stay for nodes of the previous
-- version.
CREATE TABLE people (
    id         uuid   PRIMARY KEY,
    email      text COLLATE "C" NOT NULL UNIQUE,
    created_at bigint NOT NULL,
    password   text
);

CREATE TABLE person_totps (
    person       uuid   PRIMARY KEY,
    secret       bytea NOT NULL,
    created_at   bigint NOT NULL,
    confirmed_at bigint,
    last_step    bigint NOT NULL,
    recovery     bytea NOT NULL
);

-- person is null, and hash and expires_at are set, until an invitation is accepted.
CREATE TABLE members (
    id         uuid   PRIMARY KEY,
    account    bigint NOT NULL,
    person     uuid,
    email      text COLLATE "C" NOT NULL,
    role       text NOT NULL,
    created_at bigint NOT NULL,
    hash       bytea,
    expires_at bigint
);

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

ALTER TABLE sessions ADD COLUMN person uuid;

UPDATE sessions SET person = (SELECT id FROM accounts WHERE number = sessions.account);

CREATE INDEX sessions_person ON sessions (person);

-- Who made a key, and the role that it is limited to; null for an owner's.
ALTER TABLE keys ADD COLUMN made_by text;
ALTER TABLE keys ADD COLUMN ceiling text;
