-- Nothing: the tables of tags have only the index that their deletion needs. The file
-- is there because both stores number their migrations alike.
SELECT 1;
