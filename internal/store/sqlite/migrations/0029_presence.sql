-- Nothing: one node uses the database. The file is there because both stores number
-- their migrations alike.
SELECT 1;
