-- +goose Up
-- Who may use the console. Of links and sessions only the SHA-256 is stored. An operator
-- has one link at most.
CREATE TABLE operator (
	name         TEXT PRIMARY KEY,
	role         TEXT NOT NULL,
	created_at   INTEGER NOT NULL,
	link_hash    BLOB,
	link_ends_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE operator_session (
	hash          BLOB PRIMARY KEY,
	operator_name TEXT NOT NULL REFERENCES operator (name) ON DELETE CASCADE,
	created_at    INTEGER NOT NULL,
	seen_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What people look for, page by page: accounts by the beginning of their name, whatever
-- its case, and audit entries by whom and about whom.
CREATE INDEX account_search ON account (lower(name), id);
CREATE INDEX audit_subject ON audit (subject, sequence);
CREATE INDEX audit_actor ON audit (actor, sequence);
