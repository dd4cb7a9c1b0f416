-- The owner of the document that a schedule comes from; '' for none.
ALTER TABLE schedules ADD COLUMN document TEXT NOT NULL DEFAULT '';

CREATE INDEX schedules_document ON schedules (account, document, key) WHERE document <> '';
