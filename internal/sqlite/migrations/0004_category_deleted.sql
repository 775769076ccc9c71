-- +goose Up
-- A deleted category keeps its row, without its texts, and its revision says since when.
ALTER TABLE category ADD COLUMN deleted_at INTEGER;
