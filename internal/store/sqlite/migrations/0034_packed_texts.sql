-- packed: the text of args or payload, packed; then that column is empty, and size is
-- its size in bytes. Both are null if the text is not packed.
--
-- room: as many bytes as the times need that an attempt and its end add to the row, so
-- that the row keeps its size and its page is not split.
ALTER TABLE jobs ADD COLUMN packed BLOB;
ALTER TABLE jobs ADD COLUMN size INTEGER;
ALTER TABLE jobs ADD COLUMN room BLOB;
ALTER TABLE logs ADD COLUMN packed BLOB;
ALTER TABLE logs ADD COLUMN size INTEGER;
