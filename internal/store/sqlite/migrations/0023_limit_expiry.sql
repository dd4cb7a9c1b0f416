-- When a held item is to be looked at because its job may have expired; null if
-- it can't. Only one of an item's rows has it.
ALTER TABLE limit_items ADD COLUMN expires INTEGER;

CREATE INDEX limit_items_expires ON limit_items (expires) WHERE expires IS NOT NULL;
