-- Several logs in one file: when the current one cannot go on (an old copy of the file was put back, a database was
-- lost), it is closed as it is and another epoch begins. The log with the highest id is the current one.
CREATE TABLE timeline_logs (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 0 AND 65535),
    origin TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    last BLOB,
    frontier BLOB NOT NULL,
    -- The first row that is still kept; those before it were pruned, in whole tiles.
    first INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO timeline_logs (id, origin, size, last, frontier) SELECT 0, origin, size, last, frontier FROM timeline_head;

DROP TABLE timeline_head;

-- Where a row stands: its log's id times 2^40, and its number.
ALTER TABLE timeline RENAME COLUMN seq TO place;
ALTER TABLE timeline_side RENAME COLUMN seq TO place;

-- Hashes of the tree in tiles of 256 (C2SP tlog-tiles), kept for ever. A leaf tile is written when it is full; a tile
-- further up grows by the root of each tile below it that is.
CREATE TABLE timeline_tiles (
    log INTEGER NOT NULL,
    level INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    UNIQUE (log, level, idx)
) STRICT;

-- What the node signed of a log: its size and root, and the signed note that says so.
CREATE TABLE timeline_checkpoints (
    log INTEGER NOT NULL,
    size INTEGER NOT NULL,
    root BLOB NOT NULL,
    note TEXT NOT NULL,
    made_us INTEGER NOT NULL,
    PRIMARY KEY (log, size)
) STRICT, WITHOUT ROWID;
