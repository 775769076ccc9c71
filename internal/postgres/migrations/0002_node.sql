-- +goose Up
-- Which nodes serve, by the database's clock. Rows of nodes that stopped without
-- saying so are deleted by the others.
CREATE TABLE node (
	id      text COLLATE "C" PRIMARY KEY,
	seen_at timestamptz NOT NULL
);
