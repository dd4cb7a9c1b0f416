-- Finds schedules by their exact name, however many there are.
CREATE INDEX schedules_name ON schedules (account, name, id) WHERE name IS NOT NULL;
