-- The owner of the document that a schedule comes from; '' for none.
ALTER TABLE schedules ADD COLUMN document text NOT NULL DEFAULT '';

CREATE INDEX schedules_document ON schedules (account, document, key COLLATE "C") WHERE document <> '';
CREATE INDEX schedules_keys ON schedules (account, key COLLATE "C") WHERE key IS NOT NULL;
