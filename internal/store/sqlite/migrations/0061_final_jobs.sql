-- On PostgreSQL the index of final jobs has their numbers too. Here it always had: the
-- number is the ID of the row.
SELECT 1;
