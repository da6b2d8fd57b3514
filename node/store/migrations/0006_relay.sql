-- Exchanges with other nodes: what is to cross to each, and whom they have told of.

-- A message, or how far one got, until the other node holds it. Numbers rise and are never used again.
CREATE TABLE relays (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    peer TEXT NOT NULL,
    exchange TEXT NOT NULL,
    message TEXT NOT NULL,
    -- 1: this node opened the exchange, and forwards; 0: the other did, and pulls.
    forward INTEGER NOT NULL,
    progress INTEGER NOT NULL,
    -- 0: it may cross; 1: its own files have to be there first; 2: it stands behind such a one of its exchange.
    waiting INTEGER NOT NULL,
    queued_us INTEGER NOT NULL,
    UNIQUE (message, progress)
) STRICT;

CREATE INDEX relays_by_peer ON relays (peer, forward, waiting, number);
CREATE INDEX relays_by_exchange ON relays (exchange, number);
CREATE INDEX relays_by_age ON relays (queued_us);

-- Sessions on other nodes: those that can be asked through a mirror, and those that have asked here.
CREATE TABLE remote_sessions (
    id TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    nickname TEXT NOT NULL,
    title TEXT NOT NULL,
    profile TEXT NOT NULL,
    status TEXT NOT NULL,
    askable INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX remote_sessions_by_node ON remote_sessions (node);
CREATE INDEX exchanges_by_opener_node ON exchanges (opener_node, closed);
