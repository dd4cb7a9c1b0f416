-- The run of the server (its start in microseconds) in which the node holds its
-- advisory lock; NULL while only heartbeats tell that the node lives.
ALTER TABLE nodes ADD COLUMN session bigint;
