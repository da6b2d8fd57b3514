-- The mesh: whom this node trusts, and what its gates remember over a restart.

CREATE TABLE peers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    spki TEXT NOT NULL UNIQUE,
    certificate TEXT NOT NULL,
    -- JSON lists.
    addresses TEXT NOT NULL,
    given TEXT NOT NULL,
    got TEXT NOT NULL,
    paired_us INTEGER NOT NULL,
    seen_us INTEGER,
    -- The time of the newest statement by which this peer changed its key or certificate.
    rotated_us INTEGER NOT NULL,
    -- The certificate of this node that the peer holds, by its SHA-256.
    holds TEXT NOT NULL,
    -- A certificate that the peer made for this node's key; empty for none.
    issued TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- By name; the values are JSON, as the service that keeps them writes it.
CREATE TABLE mesh_state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
