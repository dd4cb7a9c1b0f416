-- dialect: what a compatible API keeps with the limit, as JSON; '' if it is none's.
ALTER TABLE limits ADD COLUMN dialect TEXT NOT NULL DEFAULT '';
