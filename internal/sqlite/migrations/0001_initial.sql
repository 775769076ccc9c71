-- +goose Up
-- Moments are Unix milliseconds, days are counted from the epoch. A revision is
-- that of a row's last change.

-- What this file is. Written once.
CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The last numbers given out: one row, updated once per transaction that needs
-- any. They are never taken from max(id), so that no number is ever reused.
CREATE TABLE counter (
	id              INTEGER PRIMARY KEY CHECK (id = 1),
	revision        INTEGER NOT NULL,
	access_revision INTEGER NOT NULL, -- the last one that changed an account, a key or a ban
	category_id     INTEGER NOT NULL,
	account_id      INTEGER NOT NULL,
	key_id          INTEGER NOT NULL
) STRICT;
INSERT INTO counter (id, revision, access_revision, category_id, account_id, key_id)
VALUES (1, 0, 0, 0, 0, 0);

CREATE TABLE category (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL,
	description TEXT,
	revision    INTEGER NOT NULL,
	account_id  INTEGER NOT NULL, -- who created it
	created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
	account_id  INTEGER NOT NULL,
	key         TEXT NOT NULL,
	fingerprint BLOB NOT NULL,
	category_id INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_created_at ON idempotency (created_at);

CREATE TABLE account (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL,
	plan       TEXT NOT NULL,
	per_minute INTEGER NOT NULL,
	per_day    INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	closed_at  INTEGER,
	revision   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX account_open_name ON account (name) WHERE closed_at IS NULL;
CREATE INDEX account_name ON account (name);
CREATE INDEX account_revision ON account (revision);

CREATE TABLE api_key (
	id           INTEGER PRIMARY KEY,
	account_id   INTEGER NOT NULL REFERENCES account (id),
	hash         BLOB NOT NULL UNIQUE,
	label        TEXT NOT NULL,
	hint         TEXT NOT NULL,
	created_at   INTEGER NOT NULL,
	expires_at   INTEGER,
	disabled_at  INTEGER,
	revoked_at   INTEGER,
	successor_id INTEGER NOT NULL, -- 0: none
	revision     INTEGER NOT NULL
) STRICT;
CREATE INDEX api_key_account ON api_key (account_id);
CREATE INDEX api_key_revision ON api_key (revision);

-- The last ban of each key.
CREATE TABLE ban (
	key_id        INTEGER PRIMARY KEY REFERENCES api_key (id),
	account_id    INTEGER NOT NULL,
	level         INTEGER NOT NULL,
	started_at    INTEGER NOT NULL,
	ends_at       INTEGER NOT NULL,
	early_retries INTEGER NOT NULL,
	shadow        INTEGER NOT NULL,
	lifted_at     INTEGER,
	lifted_by     TEXT NOT NULL,
	revision      INTEGER NOT NULL
) STRICT;
CREATE INDEX ban_revision ON ban (revision);

-- The day comes first, so that the days of long ago are one stretch of the table.
CREATE TABLE day_count (
	day        INTEGER NOT NULL,
	account_id INTEGER NOT NULL,
	count      INTEGER NOT NULL,
	PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
	sequence INTEGER PRIMARY KEY,
	at       INTEGER NOT NULL,
	actor    TEXT NOT NULL,
	action   TEXT NOT NULL,
	subject  TEXT NOT NULL,
	detail   TEXT NOT NULL,
	hash     BLOB NOT NULL
) STRICT;
