-- +goose Up
-- What the others are to know of a node.
SET LOCAL lock_timeout = '100ms';
ALTER TABLE node
	ADD COLUMN joined_at timestamptz NOT NULL DEFAULT now(),
	ADD COLUMN cut_off   bigint NOT NULL DEFAULT 0; -- bit p: it cannot reach partition p of the counters
