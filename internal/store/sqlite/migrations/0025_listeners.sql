-- Nothing: one node uses the database, so no requests are passed between nodes. The
-- file is there because both stores number their migrations alike.
SELECT 1;
