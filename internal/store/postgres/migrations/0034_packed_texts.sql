-- packed: the text of args or payload, packed; then that column is empty, and size is
-- its size in bytes. Both are null if the text is not packed.
ALTER TABLE jobs ADD COLUMN packed bytea;
ALTER TABLE jobs ADD COLUMN size smallint;
ALTER TABLE logs ADD COLUMN packed bytea;
ALTER TABLE logs ADD COLUMN size smallint;

-- packs: texts may be packed. Nodes of earlier versions can't read packed texts; they
-- have the default of reads_packed, and can't start once packs is true.
ALTER TABLE nodes ADD COLUMN reads_packed boolean NOT NULL DEFAULT false;
ALTER TABLE schema_version ADD COLUMN packs boolean NOT NULL DEFAULT false;
UPDATE schema_version SET packs = NOT EXISTS (SELECT FROM nodes);

CREATE FUNCTION refuse_earlier_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE packed boolean;
BEGIN
    SELECT packs INTO packed FROM schema_version FOR SHARE;
    IF packed THEN
        RAISE EXCEPTION 'the database was written by a newer punctual; use that version';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER nodes_earlier BEFORE INSERT ON nodes FOR EACH ROW WHEN (NOT NEW.reads_packed) EXECUTE FUNCTION refuse_earlier_nodes();
