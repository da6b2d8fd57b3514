-- What rows and texts of a log take, so that a limit on it needs no count; and what is to be deleted of a log once the
-- row that says so (its log and number) is covered by a checkpoint.
ALTER TABLE timeline_logs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

-- Where the row stands that says last what was pruned of a closed log: in a later one.
ALTER TABLE timeline_logs ADD COLUMN told_log INTEGER;
ALTER TABLE timeline_logs ADD COLUMN told_seq INTEGER;

UPDATE timeline_logs SET bytes =
    COALESCE((SELECT SUM(LENGTH(data)) FROM timeline WHERE place >> 40 = id), 0)
    + COALESCE((SELECT SUM(LENGTH(CAST(body AS BLOB))) FROM timeline_side WHERE place >> 40 = id), 0);

CREATE TABLE timeline_prunes (
    log INTEGER PRIMARY KEY,
    next INTEGER NOT NULL,
    row_log INTEGER NOT NULL,
    row_seq INTEGER NOT NULL
) STRICT;
