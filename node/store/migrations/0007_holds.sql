-- Messages that wait for a person.

-- The message that waits for the answer; empty for what only a call asked.
ALTER TABLE approvals ADD COLUMN message TEXT NOT NULL DEFAULT '';

CREATE INDEX approvals_by_message ON approvals (message) WHERE message <> '';
CREATE INDEX approvals_waiting ON approvals (session, kind) WHERE decision = 'pending';
