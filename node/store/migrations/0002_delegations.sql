-- Delegations: nested sessions that the node starts itself, files, approvals, workspaces.

ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN conversation TEXT;
ALTER TABLE sessions ADD COLUMN branch TEXT;

-- A JSON list of [name, sha256, size, folder, entries]; the bytes are kept beside the database.
ALTER TABLE messages ADD COLUMN files TEXT NOT NULL DEFAULT '[]';

-- What a delegate's agent is started with, until it was started: JSON, as the service that launches writes it.
CREATE TABLE launches (
    session TEXT PRIMARY KEY,
    plan TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    session TEXT NOT NULL,
    subject TEXT NOT NULL,
    words TEXT NOT NULL,
    decision TEXT NOT NULL,
    asked_us INTEGER NOT NULL,
    decided_us INTEGER,
    expires_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_subject ON approvals (kind, subject, decision);
CREATE INDEX approvals_by_age ON approvals (asked_us);

CREATE TABLE workspaces (
    name_key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    driver TEXT NOT NULL,
    settings TEXT NOT NULL,
    reach TEXT,
    mode TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The worktree that was made for a session, as JSON; kept while the branch may still be merged.
CREATE TABLE worktrees (
    session TEXT PRIMARY KEY,
    tree TEXT NOT NULL
) STRICT, WITHOUT ROWID;
