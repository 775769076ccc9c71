-- +goose Up
-- What counters that several nodes share were granted of a day. Another series
-- begins when the counters forget the day.
ALTER TABLE day_count ADD COLUMN series INTEGER NOT NULL DEFAULT 0; -- the last one; 0: none
ALTER TABLE day_count ADD COLUMN granted INTEGER NOT NULL DEFAULT 0; -- the sum in it
