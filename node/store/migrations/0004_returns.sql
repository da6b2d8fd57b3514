-- What an ended agent is started again for, and how often.

-- When the effect came to be owed, whenever it is tried next.
ALTER TABLE outbox ADD COLUMN owed_us INTEGER NOT NULL DEFAULT 0;

-- How often a message that was taken became unread again.
ALTER TABLE messages ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;
