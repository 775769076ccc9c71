-- +goose Up
-- Processes that count: what each wrote last, so that nothing is added twice, and whether
-- it was killed.
CREATE TABLE usage_node (
	node       text COLLATE "C" PRIMARY KEY,
	number     bigint NOT NULL, -- of its last batch
	until_at   bigint NOT NULL, -- what it counted before is written
	ended      boolean NOT NULL, -- with its last batch
	noticed_at bigint            -- when somebody noticed that it was killed
);

-- What was counted and is not yet in hours and days, by the minute.
CREATE TABLE usage_batch (
	id     bigint PRIMARY KEY, -- random
	part   bigint NOT NULL, -- of the accounts; -1: any account may be in it
	minute bigint NOT NULL, -- the last one in it
	data   bytea NOT NULL
);
CREATE INDEX usage_batch_part ON usage_batch (part, minute);

-- Of the last month; after that, of days.
CREATE TABLE usage_hour (
	day        bigint NOT NULL,
	account_id bigint NOT NULL, -- 0: all
	hours      bytea NOT NULL,
	PRIMARY KEY (day, account_id)
);

CREATE TABLE usage_day (
	day            bigint NOT NULL,
	account_id     bigint NOT NULL, -- 0: all
	requests       bigint NOT NULL,
	minute_refused bigint NOT NULL,
	day_refused    bigint NOT NULL,
	ban_refused    bigint NOT NULL,
	key_refused    bigint NOT NULL,
	failed         bigint NOT NULL,
	bytes          bigint NOT NULL,
	PRIMARY KEY (day, account_id)
);

CREATE TABLE key_use (
	key_id  bigint PRIMARY KEY,
	used_at bigint NOT NULL
);

CREATE TABLE recent_refusal (
	account_id bigint PRIMARY KEY,
	last_at    bigint NOT NULL,
	refusals   text NOT NULL -- JSON, newest first
);
CREATE INDEX recent_refusal_last_at ON recent_refusal (last_at);
