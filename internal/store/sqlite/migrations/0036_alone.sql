-- alone: 1 if nothing else is being prepared meanwhile. Of the crashes beside others only
-- the first is counted.
ALTER TABLE suspects ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;
