-- The claims of nodes. Each node looks every second for those whose node is gone. It must
-- not read the attempts that await their completion, of which there may be any number:
-- these are claimed by the highest number.
CREATE INDEX runs_held ON runs (node) WHERE node > 0 AND node < 9223372036854775807;
