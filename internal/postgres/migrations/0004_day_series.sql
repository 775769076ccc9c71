-- +goose Up
-- What counters that several nodes share were granted of a day. Another series
-- begins when the counters forget the day.
SET LOCAL lock_timeout = '100ms';
ALTER TABLE day_count
	ADD COLUMN series  bigint NOT NULL DEFAULT 0, -- the last one; 0: none
	ADD COLUMN granted bigint NOT NULL DEFAULT 0; -- the sum in it
