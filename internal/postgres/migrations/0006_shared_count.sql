-- +goose Up
-- What several nodes count together (package pgcounters). The tables are unlogged:
-- they cost no log, and a crash empties them, all at once.

-- One row: the epoch, which ends when the tables are emptied.
CREATE UNLOGGED TABLE shared_epoch (
	id    integer PRIMARY KEY CHECK (id = 1),
	epoch bigint NOT NULL,
	began bigint NOT NULL -- nanoseconds since the Unix epoch
);

-- One row for each account. Its part is raised after some changes, so that the index
-- leads past the versions of the row that a long snapshot, such as a backup's, keeps.
-- The file is not made shorter, which would need a lock that nobody can wait for.
CREATE UNLOGGED TABLE shared_count (
	account_id       bigint NOT NULL,
	part             bigint NOT NULL,
	minute           bigint NOT NULL DEFAULT 0,
	used             bigint NOT NULL DEFAULT 0,
	epoch            bigint NOT NULL DEFAULT 0,
	day              bigint NOT NULL DEFAULT 0,
	series           bigint NOT NULL DEFAULT 0,
	known            boolean NOT NULL DEFAULT false,
	count            bigint NOT NULL DEFAULT 0,
	granted          bigint NOT NULL DEFAULT 0,
	free             bigint NOT NULL DEFAULT 0,
	owed             bigint NOT NULL DEFAULT 0,
	tomorrow_granted bigint NOT NULL DEFAULT 0,
	tomorrow_count   bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, part)
) WITH (fillfactor = 70, vacuum_truncate = false);
CREATE INDEX shared_count_day ON shared_count (day);

-- Each node's word on each key's early retries.
CREATE UNLOGGED TABLE shared_retry (
	key_id  bigint NOT NULL,
	node    text COLLATE "C" NOT NULL,
	retries bigint NOT NULL,
	told_at bigint NOT NULL, -- nanoseconds since the Unix epoch
	PRIMARY KEY (key_id, node)
) WITH (fillfactor = 70, vacuum_truncate = false);
