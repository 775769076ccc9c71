-- +goose Up
ALTER TABLE counter ADD COLUMN pet_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counter ADD COLUMN order_id INTEGER NOT NULL DEFAULT 0;

CREATE TABLE pet (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL,
	category_id INTEGER NOT NULL REFERENCES category (id),
	account_id  INTEGER NOT NULL, -- who created it
	created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX pet_category ON pet (category_id, id);

CREATE TABLE store_order (
	id         INTEGER PRIMARY KEY,
	account_id INTEGER NOT NULL, -- who placed it
	pet_id     INTEGER NOT NULL REFERENCES pet (id),
	quantity   INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX store_order_account ON store_order (account_id, id);
