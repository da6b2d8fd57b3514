-- One node's state. Times are microseconds of UTC wall clock. The session of a person's end is the empty string.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    nickname TEXT,
    nickname_key TEXT,
    title TEXT NOT NULL,
    workspace TEXT NOT NULL,
    profile TEXT NOT NULL,
    argv TEXT NOT NULL,
    cwd TEXT NOT NULL,
    pane_server TEXT,
    pane_id TEXT,
    pane_pid INTEGER,
    pane_started INTEGER,
    pane_tty TEXT,
    status TEXT NOT NULL,
    state TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    changed_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Archived sessions hold no nickname; among the others it is unique.
CREATE UNIQUE INDEX sessions_by_nickname ON sessions (nickname_key)
    WHERE nickname_key IS NOT NULL AND status <> 'archived';
CREATE INDEX sessions_by_pane ON sessions (pane_id, pane_pid) WHERE pane_id IS NOT NULL;

CREATE TABLE exchanges (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    opener_node TEXT NOT NULL,
    opener_session TEXT NOT NULL,
    worker_node TEXT NOT NULL,
    worker_session TEXT NOT NULL,
    title TEXT NOT NULL,
    chain TEXT NOT NULL,
    hops TEXT NOT NULL,
    parent TEXT,
    root TEXT NOT NULL,
    depth INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    questions TEXT NOT NULL,
    ended_noted INTEGER NOT NULL,
    reason TEXT,
    opened_us INTEGER NOT NULL,
    changed_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX exchanges_by_opener ON exchanges (opener_session, closed);
CREATE INDEX exchanges_by_worker ON exchanges (worker_session, closed);
CREATE INDEX exchanges_by_change ON exchanges (closed, changed_us);

-- With a row id, unlike the others: bodies are long, and rows by random key would be scattered over the file.
CREATE TABLE messages (
    id TEXT NOT NULL UNIQUE,
    exchange TEXT NOT NULL REFERENCES exchanges (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    sender TEXT NOT NULL,
    author TEXT NOT NULL,
    to_node TEXT NOT NULL,
    to_session TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    reply_to TEXT,
    snippet TEXT NOT NULL,
    advice TEXT NOT NULL,
    recorded_us INTEGER NOT NULL,
    screened TEXT NOT NULL,
    landed_us INTEGER,
    notices INTEGER NOT NULL,
    held TEXT,
    confirmed_us INTEGER,
    read_us INTEGER,
    answered_us INTEGER,
    gave_up_us INTEGER,
    -- The call that took the message and has not said yet whether its client got it.
    lease TEXT,
    -- The call that took it last, so that a late word of that call can still give it back.
    taken_by TEXT,
    UNIQUE (exchange, number)
) STRICT;

CREATE INDEX messages_unread ON messages (to_session, landed_us) WHERE landed_us IS NOT NULL AND read_us IS NULL;
CREATE INDEX messages_by_taker ON messages (taken_by) WHERE taken_by IS NOT NULL;

-- What each command came to, so that a retry gets the first result.
CREATE TABLE commands (
    key TEXT PRIMARY KEY,
    exchange TEXT NOT NULL,
    message TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX commands_by_age ON commands (created_us);

-- Calls of agents: 'running', 'answered', 'settled' (the client has the answer) or 'abandoned'.
CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX calls_by_digest ON calls (session, digest, created_us);
CREATE INDEX calls_by_age ON calls (created_us);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    session TEXT NOT NULL,
    message TEXT NOT NULL,
    due_us INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX outbox_by_due ON outbox (kind, due_us);

-- The timeline: exact bytes and leaf hashes, never changed; texts beside it can be erased.
CREATE TABLE timeline (
    seq INTEGER PRIMARY KEY,
    data BLOB NOT NULL,
    leaf BLOB NOT NULL
) STRICT;

CREATE TABLE timeline_side (
    seq INTEGER NOT NULL,
    field TEXT NOT NULL,
    salt BLOB NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (seq, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE timeline_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    origin TEXT NOT NULL,
    size INTEGER NOT NULL,
    last BLOB,
    frontier BLOB NOT NULL
) STRICT;
