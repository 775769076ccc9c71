-- +goose Up
-- The last call of each process that leased or returned requests of days, so that
-- one whose outcome the process does not know is done once.
CREATE TABLE day_call (
	caller  text COLLATE "C" PRIMARY KEY,
	number  bigint NOT NULL,
	granted bigint[] NOT NULL, -- what it granted, in its order
	made_at bigint NOT NULL
);
