-- Times (_at) are Unix milliseconds, days are numbered from the epoch. The revision of a row is the
-- one of its last change.

-- The identity of the data, and texts that all processes share.
CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The last used numbers: one row, updated once by each transaction that needs numbers. A node locks
-- it until the commit, so numbers are in commit order. max(id) is not used, because it would reuse
-- numbers.
CREATE TABLE counter (
	id              INTEGER PRIMARY KEY CHECK (id = 1),
	revision        INTEGER NOT NULL,
	access_revision INTEGER NOT NULL, -- the last change of an account, a key or a ban
	category_id     INTEGER NOT NULL,
	account_id      INTEGER NOT NULL,
	key_id          INTEGER NOT NULL,
	pet_id          INTEGER NOT NULL,
	order_id        INTEGER NOT NULL,
	token_id        INTEGER NOT NULL,
	plan_request_id INTEGER NOT NULL,
	event_id        INTEGER NOT NULL,
	webhook_id      INTEGER NOT NULL
) STRICT;
INSERT INTO counter VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

-- A deleted category keeps its row for 30 days, without its texts; its revision is that of the
-- deletion.
CREATE TABLE categories (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL,
	description TEXT,
	revision    INTEGER NOT NULL,
	account_id  INTEGER NOT NULL, -- the creator
	created_at  INTEGER NOT NULL,
	deleted_at  INTEGER
) STRICT;
CREATE INDEX category_revision ON categories (revision);
CREATE INDEX category_deleted_at ON categories (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE idempotency_keys (
	account_id  INTEGER NOT NULL,
	key         TEXT NOT NULL,
	fingerprint BLOB NOT NULL,
	result_id   INTEGER NOT NULL, -- the id of the resource that was created or changed
	-- By the database's clock: nodes' clocks may be wrong.
	created_at  INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
	PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_created_at ON idempotency_keys (created_at);

CREATE TABLE accounts (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL,
	plan       TEXT NOT NULL,
	per_minute INTEGER NOT NULL,
	per_day    INTEGER NOT NULL,
	max_categories INTEGER NOT NULL,
	max_bytes  INTEGER NOT NULL, -- of all categories of the account
	created_at INTEGER NOT NULL,
	closed_at  INTEGER,
	external_id TEXT NOT NULL DEFAULT '', -- the operator's own number of the customer, or ''
	revision   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX account_open_name ON accounts (name) WHERE closed_at IS NULL;
CREATE UNIQUE INDEX account_open_external_id ON accounts (external_id) WHERE closed_at IS NULL AND external_id <> '';
CREATE INDEX account_external_id ON accounts (external_id);
CREATE INDEX account_name ON accounts (name);
CREATE INDEX account_revision ON accounts (revision);

CREATE TABLE api_keys (
	id           INTEGER PRIMARY KEY,
	account_id   INTEGER NOT NULL REFERENCES accounts (id),
	hash         BLOB NOT NULL UNIQUE,
	label        TEXT NOT NULL,
	hint         TEXT NOT NULL,
	created_at   INTEGER NOT NULL,
	expires_at   INTEGER,
	disabled_at  INTEGER,
	revoked_at   INTEGER,
	leaked_at    INTEGER, -- when its secret was reported, the last time
	successor_id INTEGER NOT NULL, -- 0: none
	revision     INTEGER NOT NULL,
	read_only    BOOLEAN NOT NULL DEFAULT false,
	networks     TEXT NOT NULL DEFAULT '' -- in CIDR notation, with spaces between them; '': any
) STRICT;
CREATE INDEX api_key_account ON api_keys (account_id);
CREATE INDEX api_key_revision ON api_keys (revision);

-- The last ban of each key, until 30 days after its end.
CREATE TABLE bans (
	key_id        INTEGER PRIMARY KEY REFERENCES api_keys (id),
	account_id    INTEGER NOT NULL,
	level         INTEGER NOT NULL,
	started_at    INTEGER NOT NULL,
	ends_at       INTEGER NOT NULL,
	early_retries INTEGER NOT NULL,
	shadow        BOOLEAN NOT NULL,
	lifted_at     INTEGER,
	lifted_by     TEXT NOT NULL,
	revision      INTEGER NOT NULL
) STRICT;
CREATE INDEX ban_revision ON bans (revision);
CREATE INDEX ban_account ON bans (account_id, key_id);
CREATE INDEX ban_ends_at ON bans (ends_at);

CREATE TABLE audit (
	sequence INTEGER PRIMARY KEY,
	at       INTEGER NOT NULL,
	actor    TEXT NOT NULL,
	action   TEXT NOT NULL,
	subject  TEXT NOT NULL,
	detail   TEXT NOT NULL,
	hash     BLOB NOT NULL
) STRICT;

CREATE TABLE pets (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL,
	category_id INTEGER NOT NULL, -- another account's category may be gone
	account_id  INTEGER NOT NULL, -- the creator
	created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX pet_category ON pets (category_id, id);
CREATE INDEX pet_account ON pets (account_id, category_id, id);

CREATE TABLE orders (
	id         INTEGER PRIMARY KEY,
	account_id INTEGER NOT NULL, -- the buyer
	pet_id     INTEGER NOT NULL, -- the pet may be gone
	quantity   INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX store_order_account ON orders (account_id, id);

-- The running nodes, by the clock of the database. Other nodes delete the row of a killed node.
CREATE TABLE nodes (
	id          TEXT PRIMARY KEY,
	label       TEXT NOT NULL UNIQUE,
	version     TEXT NOT NULL,
	host        TEXT NOT NULL, -- the name of the machine
	admin_url   TEXT NOT NULL, -- for the same machine
	console_url TEXT NOT NULL, -- for browsers
	public_url  TEXT NOT NULL, -- for clients of the API
	state       TEXT NOT NULL,
	since_at    INTEGER NOT NULL, -- start of the state
	drained     BOOLEAN NOT NULL,
	seen_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last batch of usage of each node, so that no batch is added twice, and whether the node was
-- killed.
CREATE TABLE usage_nodes (
	node      TEXT PRIMARY KEY,
	number    INTEGER NOT NULL, -- of the last batch
	seen_at   INTEGER NOT NULL, -- all usage before is stored
	stopped   BOOLEAN NOT NULL, -- with the last batch
	killed_at INTEGER           -- when another node detected that it was killed
) STRICT, WITHOUT ROWID;

-- Account 0 is the sum of all requests. An hour is Unix time / 3600. It is the first column of the
-- key, so changing rows are on few pages, and old rows are one range of the table.
-- PostgreSQL has another key, see its package.
CREATE TABLE usage (
	hour           INTEGER NOT NULL,
	account_id     INTEGER NOT NULL,
	requests       INTEGER NOT NULL,
	minute_rejected INTEGER NOT NULL,
	day_rejected    INTEGER NOT NULL,
	ban_rejected    INTEGER NOT NULL,
	key_rejected    INTEGER NOT NULL,
	failed         INTEGER NOT NULL,
	bytes          INTEGER NOT NULL,
	PRIMARY KEY (hour, account_id)
) STRICT, WITHOUT ROWID;

-- The usage of hours that are older than a month.
CREATE TABLE usage_days (
	day            INTEGER NOT NULL,
	account_id     INTEGER NOT NULL,
	requests       INTEGER NOT NULL,
	minute_rejected INTEGER NOT NULL,
	day_rejected    INTEGER NOT NULL,
	ban_rejected    INTEGER NOT NULL,
	key_rejected    INTEGER NOT NULL,
	failed         INTEGER NOT NULL,
	bytes          INTEGER NOT NULL,
	PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;

-- The requests of an account by key and operation: of an hour, or if that is older than a month, in the
-- first hour of its day, of the day. PostgreSQL has another key, see its package.
CREATE TABLE usage_by_key (
	hour       INTEGER NOT NULL,
	account_id INTEGER NOT NULL,
	key_id     INTEGER NOT NULL, -- 0, with no operation, for those that were not counted apart
	operation  TEXT NOT NULL,    -- '' if none matched
	requests   INTEGER NOT NULL,
	rejected   INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	PRIMARY KEY (hour, account_id, key_id, operation)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_uses (
	key_id  INTEGER PRIMARY KEY,
	used_at INTEGER NOT NULL -- Unix time in seconds
) STRICT;

-- Rejected and failed requests. Except for count and first_at, the values are those of the last one.
CREATE TABLE recent_rejections (
	account_id   INTEGER NOT NULL,
	key_id       INTEGER NOT NULL,
	operation    TEXT NOT NULL,
	code         TEXT NOT NULL,
	count        INTEGER NOT NULL,
	first_at     INTEGER NOT NULL,
	last_at      INTEGER NOT NULL,
	request_id   TEXT NOT NULL,
	status       INTEGER NOT NULL,
	minute_used  INTEGER NOT NULL,
	minute_limit INTEGER NOT NULL, -- 0: not known
	day_used     INTEGER NOT NULL,
	day_limit    INTEGER NOT NULL,
	until_at     INTEGER,
	PRIMARY KEY (account_id, key_id, operation, code)
) STRICT, WITHOUT ROWID;
CREATE INDEX recent_rejection_last_at ON recent_rejections (last_at);
CREATE INDEX recent_rejection_request ON recent_rejections (request_id);

-- Users of the console.
CREATE TABLE operators (
	name       TEXT PRIMARY KEY,
	role       TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One-time links, and the sessions that they start: of an operator in the console (account_id
-- is 0), or of an account on the customer's page (operator_name is ''). hash is the SHA-256 of
-- the token.
CREATE TABLE sign_in_links (
	hash          BLOB PRIMARY KEY,
	operator_name TEXT NOT NULL,
	account_id    INTEGER NOT NULL,
	expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_link_subject ON sign_in_links (operator_name, account_id);
CREATE INDEX sign_in_link_expires_at ON sign_in_links (expires_at);

CREATE TABLE sessions (
	hash          BLOB PRIMARY KEY,
	operator_name TEXT NOT NULL,
	account_id    INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	seen_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_subject ON sessions (operator_name, account_id);
CREATE INDEX session_seen_at ON sessions (seen_at);

-- Bearer tokens of the management API.
CREATE TABLE operator_tokens (
	id         INTEGER PRIMARY KEY,
	hash       BLOB NOT NULL UNIQUE,
	name       TEXT NOT NULL,
	role       TEXT NOT NULL,
	hint       TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER,
	revoked_at INTEGER,
	used_at    INTEGER -- of the last recorded request
) STRICT;
CREATE UNIQUE INDEX operator_token_live_name ON operator_tokens (name) WHERE revoked_at IS NULL;

-- Customers' requests for another plan.
CREATE TABLE plan_requests (
	id         INTEGER PRIMARY KEY,
	account_id INTEGER NOT NULL REFERENCES accounts (id),
	plan       TEXT NOT NULL,
	note       TEXT NOT NULL,
	state      TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	decided_at INTEGER,
	decided_by TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX plan_request_pending ON plan_requests (account_id) WHERE state = 'pending';
CREATE INDEX plan_request_account ON plan_requests (account_id, id);
CREATE INDEX plan_request_state ON plan_requests (state, id);

-- What operators' programs are told, for 30 days.
CREATE TABLE events (
	id         INTEGER PRIMARY KEY,
	type       TEXT NOT NULL,
	body       TEXT NOT NULL, -- a JSON object
	at         INTEGER NOT NULL,
	webhook_id INTEGER NOT NULL, -- the webhook that a test is for, else 0
	once       TEXT UNIQUE       -- if not NULL, a name that one event has
) STRICT;
CREATE INDEX event_at ON events (at);
CREATE INDEX api_key_expires_at ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;

-- The secrets sign, so they are stored as they are. Backups contain none.
CREATE TABLE webhooks (
	id           INTEGER PRIMARY KEY,
	url          TEXT NOT NULL,
	types        TEXT NOT NULL, -- with commas between them; '': all
	secret       TEXT NOT NULL,
	old_secret   TEXT NOT NULL, -- before the last rotation
	overlap_ends INTEGER,
	created_at   INTEGER NOT NULL,
	disabled_at  INTEGER,
	failure      TEXT NOT NULL,
	cursor_id    INTEGER NOT NULL, -- the last event that was delivered or excluded
	attempts     INTEGER NOT NULL, -- of the event after it
	next_at      INTEGER
) STRICT;

-- The last deliveries of each webhook.
CREATE TABLE deliveries (
	webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
	at         INTEGER NOT NULL,
	event_id   INTEGER NOT NULL,
	type       TEXT NOT NULL,
	attempt    INTEGER NOT NULL,
	status     INTEGER NOT NULL, -- 0: no response
	response   TEXT NOT NULL,
	PRIMARY KEY (webhook_id, at, event_id)
) STRICT, WITHOUT ROWID;

-- Searches: accounts by the start of the name in any case, keys by hint, audit entries by actor and
-- by subject.
CREATE INDEX account_search ON accounts (lower(name), id);
CREATE INDEX api_key_hint ON api_keys (hint, id);
CREATE INDEX audit_subject ON audit (subject, sequence);
CREATE INDEX audit_actor ON audit (actor, sequence);
