-- +goose Up
-- A deleted category keeps its row, without its texts, and its revision says since when.
SET LOCAL lock_timeout = '100ms';
LOCK TABLE idempotency, counter, category IN ACCESS EXCLUSIVE MODE;
ALTER TABLE category ADD COLUMN deleted_at bigint;
