-- +goose Up
-- Keys that existed before may write, and so may those that the last version makes.
ALTER TABLE api_key ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0;
