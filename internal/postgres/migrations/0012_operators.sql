-- +goose Up
-- Who may use the console. Of links and sessions only the SHA-256 is stored. An operator
-- has one link at most.
CREATE TABLE operator (
	name         text COLLATE "C" PRIMARY KEY,
	role         text NOT NULL,
	created_at   bigint NOT NULL,
	link_hash    bytea,
	link_ends_at bigint
);

CREATE TABLE operator_session (
	hash          bytea PRIMARY KEY,
	operator_name text COLLATE "C" NOT NULL REFERENCES operator (name) ON DELETE CASCADE,
	created_at    bigint NOT NULL,
	seen_at       bigint NOT NULL
);

-- What people look for, page by page: accounts by the beginning of their name, whatever
-- its case, and audit entries by whom and about whom.
SET LOCAL lock_timeout = '100ms';
CREATE INDEX account_search ON account (lower(name), id);
CREATE INDEX audit_subject ON audit (subject, sequence);
CREATE INDEX audit_actor ON audit (actor, sequence);
