-- +goose Up
-- Processes that count: what each wrote last, so that nothing is added twice, and whether
-- it was killed.
CREATE TABLE usage_node (
	node       TEXT PRIMARY KEY,
	number     INTEGER NOT NULL, -- of its last batch
	until_at   INTEGER NOT NULL, -- what it counted before is written
	ended      INTEGER NOT NULL, -- 1: with its last batch
	noticed_at INTEGER           -- when somebody noticed that it was killed
) STRICT, WITHOUT ROWID;

-- What was counted and is not yet in hours and days, by the minute.
CREATE TABLE usage_batch (
	id     INTEGER PRIMARY KEY, -- random
	part   INTEGER NOT NULL, -- of the accounts; -1: any account may be in it
	minute INTEGER NOT NULL, -- the last one in it
	data   BLOB NOT NULL
) STRICT;
CREATE INDEX usage_batch_part ON usage_batch (part, minute);

-- Of the last month; after that, of days.
CREATE TABLE usage_hour (
	day        INTEGER NOT NULL,
	account_id INTEGER NOT NULL, -- 0: all
	hours      BLOB NOT NULL,
	PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_day (
	day            INTEGER NOT NULL,
	account_id     INTEGER NOT NULL, -- 0: all
	requests       INTEGER NOT NULL,
	minute_refused INTEGER NOT NULL,
	day_refused    INTEGER NOT NULL,
	ban_refused    INTEGER NOT NULL,
	key_refused    INTEGER NOT NULL,
	failed         INTEGER NOT NULL,
	bytes          INTEGER NOT NULL,
	PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_use (
	key_id  INTEGER PRIMARY KEY,
	used_at INTEGER NOT NULL
) STRICT;

CREATE TABLE recent_refusal (
	account_id INTEGER PRIMARY KEY,
	last_at    INTEGER NOT NULL,
	refusals   TEXT NOT NULL -- JSON, newest first
) STRICT;
CREATE INDEX recent_refusal_last_at ON recent_refusal (last_at);
