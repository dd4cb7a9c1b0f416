-- floating: the parts of the limit that jobs which name it may define: 1 the rate, 2 the
-- number of attempts at once.
ALTER TABLE limits ADD COLUMN floating smallint NOT NULL DEFAULT 0;
