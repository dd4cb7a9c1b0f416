-- alone: nothing else is being prepared meanwhile. Of the crashes beside others only the
-- first is counted.
ALTER TABLE suspects ADD COLUMN alone boolean NOT NULL DEFAULT false;
