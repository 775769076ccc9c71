-- +goose Up
-- The last call of each process that leased or returned requests of days, so that
-- one whose outcome the process does not know is done once.
CREATE TABLE day_call (
	caller  TEXT PRIMARY KEY,
	number  INTEGER NOT NULL,
	granted BLOB NOT NULL, -- what it granted, in its order: varints
	made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
