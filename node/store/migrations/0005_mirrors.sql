-- Mirrors: the servers that this node is a thin client of.

CREATE TABLE mirrors (
    -- The server's node id, of one that this node is paired with.
    peer TEXT PRIMARY KEY,
    paused INTEGER NOT NULL,
    added_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
