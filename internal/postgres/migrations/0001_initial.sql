-- +goose Up
-- Moments are Unix milliseconds, days are counted from the epoch. A revision is
-- that of a row's last change. Texts are compared byte by byte: the collations of
-- operating systems change, and damage indexes when they do.

-- Whose data this is. Written once.
CREATE TABLE meta (
	name  text COLLATE "C" PRIMARY KEY,
	value text NOT NULL
);

-- The last numbers given out: one row. The transaction that takes one holds the
-- row until it has committed, so numbers are in the order of commits on all nodes.
-- They are never taken from max(id), so that no number is ever reused.
CREATE TABLE counter (
	id              integer PRIMARY KEY CHECK (id = 1),
	revision        bigint NOT NULL,
	access_revision bigint NOT NULL, -- the last one that changed an account, a key or a ban
	category_id     bigint NOT NULL,
	account_id      bigint NOT NULL,
	key_id          bigint NOT NULL
);
INSERT INTO counter (id, revision, access_revision, category_id, account_id, key_id)
VALUES (1, 0, 0, 0, 0, 0);

CREATE TABLE category (
	id          bigint PRIMARY KEY,
	name        text COLLATE "C" NOT NULL,
	description text COLLATE "C",
	revision    bigint NOT NULL,
	account_id  bigint NOT NULL, -- who created it
	created_at  bigint NOT NULL
);
CREATE INDEX category_revision ON category (revision);

CREATE TABLE idempotency (
	account_id  bigint NOT NULL,
	key         text COLLATE "C" NOT NULL,
	fingerprint bytea NOT NULL,
	category_id bigint NOT NULL,
	created_at  bigint NOT NULL,
	PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_created_at ON idempotency (created_at);

CREATE TABLE account (
	id         bigint PRIMARY KEY,
	name       text COLLATE "C" NOT NULL,
	plan       text NOT NULL,
	per_minute bigint NOT NULL,
	per_day    bigint NOT NULL,
	created_at bigint NOT NULL,
	closed_at  bigint,
	revision   bigint NOT NULL
);
CREATE UNIQUE INDEX account_open_name ON account (name) WHERE closed_at IS NULL;
CREATE INDEX account_name ON account (name);
CREATE INDEX account_revision ON account (revision);

CREATE TABLE api_key (
	id           bigint PRIMARY KEY,
	account_id   bigint NOT NULL REFERENCES account (id),
	hash         bytea NOT NULL UNIQUE,
	label        text COLLATE "C" NOT NULL,
	hint         text NOT NULL,
	created_at   bigint NOT NULL,
	expires_at   bigint,
	disabled_at  bigint,
	revoked_at   bigint,
	successor_id bigint NOT NULL, -- 0: none
	revision     bigint NOT NULL
);
CREATE INDEX api_key_account ON api_key (account_id);
CREATE INDEX api_key_revision ON api_key (revision);

-- The last ban of each key.
CREATE TABLE ban (
	key_id        bigint PRIMARY KEY REFERENCES api_key (id),
	account_id    bigint NOT NULL,
	level         bigint NOT NULL,
	started_at    bigint NOT NULL,
	ends_at       bigint NOT NULL,
	early_retries bigint NOT NULL,
	shadow        boolean NOT NULL,
	lifted_at     bigint,
	lifted_by     text NOT NULL,
	revision      bigint NOT NULL
);
CREATE INDEX ban_revision ON ban (revision);

-- The day comes first, so that the days of long ago are one stretch of the index.
CREATE TABLE day_count (
	day        bigint NOT NULL,
	account_id bigint NOT NULL,
	count      bigint NOT NULL,
	PRIMARY KEY (day, account_id)
);

CREATE TABLE audit (
	sequence bigint PRIMARY KEY,
	at       bigint NOT NULL,
	actor    text NOT NULL,
	action   text NOT NULL,
	subject  text NOT NULL,
	detail   text NOT NULL,
	hash     bytea NOT NULL
);
