-- +goose Up
-- Keys that existed before may write, and so may those that the last version makes.
SET LOCAL lock_timeout = '100ms';
ALTER TABLE api_key ADD COLUMN read_only boolean NOT NULL DEFAULT false;
