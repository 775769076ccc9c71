-- +goose Up
SET LOCAL lock_timeout = '100ms';
LOCK TABLE idempotency, counter, category IN ACCESS EXCLUSIVE MODE;
ALTER TABLE counter
	ADD COLUMN pet_id   bigint NOT NULL DEFAULT 0,
	ADD COLUMN order_id bigint NOT NULL DEFAULT 0;

CREATE TABLE pet (
	id          bigint PRIMARY KEY,
	name        text COLLATE "C" NOT NULL,
	category_id bigint NOT NULL REFERENCES category (id),
	account_id  bigint NOT NULL, -- who created it
	created_at  bigint NOT NULL
);
CREATE INDEX pet_category ON pet (category_id, id);

CREATE TABLE store_order (
	id         bigint PRIMARY KEY,
	account_id bigint NOT NULL, -- who placed it
	pet_id     bigint NOT NULL REFERENCES pet (id),
	quantity   bigint NOT NULL,
	created_at bigint NOT NULL
);
CREATE INDEX store_order_account ON store_order (account_id, id);
