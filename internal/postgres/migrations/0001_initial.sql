-- Moments are Unix milliseconds, days are counted from the epoch. A revision is
-- that of a row's last change. Texts are compared byte by byte: the collations of
-- operating systems change, and damage indexes when they do.

-- How many migrations were made. One row.
CREATE TABLE petcat_schema (version bigint NOT NULL);
INSERT INTO petcat_schema (version) VALUES (1);

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
	key_id          bigint NOT NULL,
	pet_id          bigint NOT NULL,
	order_id        bigint NOT NULL,
	token_id        bigint NOT NULL,
	plan_request_id bigint NOT NULL
);
INSERT INTO counter VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0);

-- A deleted category keeps its row, without its texts, and its revision says since when.
CREATE TABLE categories (
	id          bigint PRIMARY KEY,
	name        text COLLATE "C" NOT NULL,
	description text COLLATE "C",
	revision    bigint NOT NULL,
	account_id  bigint NOT NULL, -- who created it
	created_at  bigint NOT NULL,
	deleted_at  bigint
);
CREATE INDEX category_revision ON categories (revision);

CREATE TABLE idempotency_keys (
	account_id  bigint NOT NULL,
	key         text COLLATE "C" NOT NULL,
	fingerprint bytea NOT NULL,
	category_id bigint NOT NULL,
	created_at  bigint NOT NULL,
	PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_created_at ON idempotency_keys (created_at);

CREATE TABLE accounts (
	id         bigint PRIMARY KEY,
	name       text COLLATE "C" NOT NULL,
	plan       text NOT NULL,
	per_minute bigint NOT NULL,
	per_day    bigint NOT NULL,
	created_at bigint NOT NULL,
	closed_at  bigint,
	revision   bigint NOT NULL
);
CREATE UNIQUE INDEX account_open_name ON accounts (name) WHERE closed_at IS NULL;
CREATE INDEX account_name ON accounts (name);
CREATE INDEX account_revision ON accounts (revision);

CREATE TABLE api_keys (
	id           bigint PRIMARY KEY,
	account_id   bigint NOT NULL REFERENCES accounts (id),
	hash         bytea NOT NULL UNIQUE,
	label        text COLLATE "C" NOT NULL,
	hint         text NOT NULL,
	created_at   bigint NOT NULL,
	expires_at   bigint,
	disabled_at  bigint,
	revoked_at   bigint,
	successor_id bigint NOT NULL, -- 0: none
	revision     bigint NOT NULL,
	read_only    boolean NOT NULL DEFAULT false
);
CREATE INDEX api_key_account ON api_keys (account_id);
CREATE INDEX api_key_revision ON api_keys (revision);

-- The last ban of each key.
CREATE TABLE bans (
	key_id        bigint PRIMARY KEY REFERENCES api_keys (id),
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
CREATE INDEX ban_revision ON bans (revision);

CREATE TABLE audit (
	sequence bigint PRIMARY KEY,
	at       bigint NOT NULL,
	actor    text NOT NULL,
	action   text NOT NULL,
	subject  text NOT NULL,
	detail   text NOT NULL,
	hash     bytea NOT NULL
);

-- Audit entries are only appended. The owner of the table can drop the trigger, a role
-- with fewer rights cannot. The chain of hashes shows the rest.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'audit entries are never changed or deleted';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
	FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

CREATE TABLE pets (
	id          bigint PRIMARY KEY,
	name        text COLLATE "C" NOT NULL,
	category_id bigint NOT NULL REFERENCES categories (id),
	account_id  bigint NOT NULL, -- who created it
	created_at  bigint NOT NULL
);
CREATE INDEX pet_category ON pets (category_id, id);

CREATE TABLE orders (
	id         bigint PRIMARY KEY,
	account_id bigint NOT NULL, -- who placed it
	pet_id     bigint NOT NULL REFERENCES pets (id),
	quantity   bigint NOT NULL,
	created_at bigint NOT NULL
);
CREATE INDEX store_order_account ON orders (account_id, id);

-- Which nodes run, by the database's clock. Rows of nodes that were killed are deleted by
-- the others.
CREATE TABLE nodes (
	id          text COLLATE "C" PRIMARY KEY,
	label       text COLLATE "C" NOT NULL UNIQUE,
	version     text COLLATE "C" NOT NULL,
	host        text COLLATE "C" NOT NULL, -- the name of its machine
	admin_url   text COLLATE "C" NOT NULL, -- for its machine
	console_url text COLLATE "C" NOT NULL, -- for browsers
	public_url  text COLLATE "C" NOT NULL, -- for clients of the API
	state       text COLLATE "C" NOT NULL,
	since_at    bigint NOT NULL, -- of the state
	drained     boolean NOT NULL,
	seen_at     bigint NOT NULL
);

-- What each account has used of its last minute, and of that minute's day. A crash empties
-- an unlogged table; the day is then read from the table usage. There is one row for each
-- account. Its step changes every 64 requests, so that the index leads past the versions of
-- the row that a long snapshot, such as a backup's, keeps.
CREATE UNLOGGED TABLE spent (
	account_id  bigint NOT NULL,
	minute      bigint NOT NULL, -- Unix time / 60
	step        bigint NOT NULL DEFAULT 0, -- minute_used / 64
	minute_used bigint NOT NULL DEFAULT 0,
	day_used    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, minute, step)
) WITH (fillfactor = 50);

-- charge_quota charges one request to each of the accounts, which must be in ascending
-- order: to both windows or to neither. A changed signature needs a new name, because nodes
-- of the version before call this one.
--
-- Tables without statistics, as on a new day, must not be scanned: hence the settings.
CREATE FUNCTION charge_quota(accounts bigint[], per_minute bigint[], per_day bigint[])
RETURNS TABLE (now bigint, admitted boolean, minute_used bigint, day_used bigint) -- now in microseconds
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '200ms' AS $$
DECLARE
	s record;
	this_minute bigint;
	changed boolean;
	n int := cardinality(accounts);
BEGIN
	-- Nothing here has to last, and a standby that is away must not delay it. A SET of the
	-- function would end before the commit.
	PERFORM set_config('synchronous_commit', 'off', true);
	FOR i IN 1 .. n LOOP
		IF i > 1 AND accounts[i] < accounts[i - 1] THEN
			RAISE EXCEPTION 'charge_quota: the accounts are not in order'; -- two calls could wait for each other
		END IF;
		IF i = 1 OR accounts[i] <> accounts[i - 1] THEN
			-- A queue in order of arrival; those who wait for a row overtake each other. Whoever
			-- writes the row holds this lock, so a refusal locks no row and writes nothing.
			PERFORM pg_advisory_xact_lock(4611686018427387904 + accounts[i]);
			SELECT t.ctid, t.* INTO s FROM spent AS t WHERE t.account_id = accounts[i] ORDER BY t.minute DESC, t.step DESC LIMIT 1;
			IF NOT FOUND THEN
				INSERT INTO spent AS t (account_id, minute) VALUES (accounts[i], 0) RETURNING t.ctid, t.* INTO s;
			END IF;
			now := extract(epoch FROM clock_timestamp()) * 1000000; -- after the wait for the account
			this_minute := now / 60000000;
			IF s.minute <> this_minute THEN
				-- The history knows what was admitted when this row was lost, or another one decided.
				s.day_used := greatest(CASE WHEN s.minute / 1440 = this_minute / 1440 THEN s.day_used END,
					(SELECT coalesce(sum(u.requests), 0) FROM usage AS u WHERE u.account_id = s.account_id
						AND u.hour BETWEEN this_minute / 1440 * 24 AND this_minute / 1440 * 24 + 23));
				s.minute_used := 0;
			END IF;
			changed := false;
		END IF;
		admitted := s.minute_used < per_minute[i] AND s.day_used < per_day[i];
		IF admitted THEN
			s.minute_used := s.minute_used + 1;
			s.day_used := s.day_used + 1;
			changed := true;
		END IF;
		IF changed AND (i = n OR accounts[i + 1] <> accounts[i]) THEN
			UPDATE spent AS t SET minute = this_minute, step = s.minute_used / 64, minute_used = s.minute_used, day_used = s.day_used
			WHERE t.ctid = s.ctid;
			IF NOT FOUND THEN
				RAISE EXCEPTION 'charge_quota: the row of account % was written without its lock', accounts[i];
			END IF;
		END IF;
		minute_used := s.minute_used;
		day_used := s.day_used;
		RETURN NEXT;
	END LOOP;
END $$;

-- Processes that count: what each wrote last, so that nothing is added twice, and whether
-- it was killed.
CREATE TABLE usage_nodes (
	node      text COLLATE "C" PRIMARY KEY,
	number    bigint NOT NULL, -- of its last batch
	seen_at   bigint NOT NULL, -- what it counted before is written
	ended     boolean NOT NULL, -- with its last batch
	killed_at bigint           -- when somebody noticed that it was killed
);

-- The account 0 stands for all requests. An hour is Unix time / 3600. There is room for
-- new versions of rows on their pages, and the index on the hour alone is small and is not
-- changed by them.
CREATE TABLE usage (
	account_id     bigint NOT NULL,
	hour           bigint NOT NULL,
	requests       bigint NOT NULL,
	minute_refused bigint NOT NULL,
	day_refused    bigint NOT NULL,
	ban_refused    bigint NOT NULL,
	key_refused    bigint NOT NULL,
	failed         bigint NOT NULL,
	bytes          bigint NOT NULL,
	PRIMARY KEY (account_id, hour)
) WITH (fillfactor = 70);
CREATE INDEX usage_hour ON usage USING brin (hour);

-- Hours of more than a month ago.
CREATE TABLE usage_days (LIKE usage);
ALTER TABLE usage_days RENAME hour TO day;
ALTER TABLE usage_days ADD PRIMARY KEY (day, account_id);

CREATE TABLE key_uses (
	key_id  bigint PRIMARY KEY,
	used_at bigint NOT NULL -- Unix time in seconds
);

-- Requests that were refused or failed. All but the count and first_at is of the last one.
CREATE TABLE recent_refusals (
	account_id   bigint NOT NULL,
	key_id       bigint NOT NULL,
	operation    text COLLATE "C" NOT NULL,
	code         text COLLATE "C" NOT NULL,
	count        bigint NOT NULL,
	first_at     bigint NOT NULL,
	last_at      bigint NOT NULL,
	request_id   text COLLATE "C" NOT NULL,
	status       bigint NOT NULL,
	minute_used  bigint NOT NULL,
	minute_limit bigint NOT NULL, -- 0: not known
	day_used     bigint NOT NULL,
	day_limit    bigint NOT NULL,
	until_at     bigint,
	PRIMARY KEY (account_id, key_id, operation, code)
);
CREATE INDEX recent_refusal_last_at ON recent_refusals (last_at);

-- Who may use the console. Of links and sessions only the SHA-256 is stored. An operator
-- has one link at most.
CREATE TABLE operators (
	name         text COLLATE "C" PRIMARY KEY,
	role         text NOT NULL,
	created_at   bigint NOT NULL,
	link_hash    bytea,
	link_ends_at bigint
);

CREATE TABLE operator_sessions (
	hash          bytea PRIMARY KEY,
	operator_name text COLLATE "C" NOT NULL REFERENCES operators (name) ON DELETE CASCADE,
	created_at    bigint NOT NULL,
	seen_at       bigint NOT NULL
);

-- Bearer tokens of the management API.
CREATE TABLE operator_tokens (
	id         bigint PRIMARY KEY,
	hash       bytea NOT NULL UNIQUE,
	name       text COLLATE "C" NOT NULL,
	role       text NOT NULL,
	created_at bigint NOT NULL,
	expires_at bigint,
	revoked_at bigint
);
CREATE UNIQUE INDEX operator_token_live_name ON operator_tokens (name) WHERE revoked_at IS NULL;

-- Browsers on the customer's page of an account, and links that lead there once.
CREATE TABLE customer_links (
	hash       bytea PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts (id),
	ends_at    bigint NOT NULL
);

CREATE TABLE customer_sessions (
	hash       bytea PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts (id),
	created_at bigint NOT NULL,
	seen_at    bigint NOT NULL
);

-- Customers' wishes for another plan.
CREATE TABLE plan_requests (
	id         bigint PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts (id),
	plan       text NOT NULL,
	note       text COLLATE "C" NOT NULL,
	state      text NOT NULL,
	created_at bigint NOT NULL,
	decided_at bigint,
	decided_by text NOT NULL
);
CREATE UNIQUE INDEX plan_request_pending ON plan_requests (account_id) WHERE state = 'pending';
CREATE INDEX plan_request_account ON plan_requests (account_id, id);

-- What people look for, page by page: accounts by the beginning of their name, whatever
-- its case, keys by their hints, and audit entries by whom and about whom.
CREATE INDEX account_search ON accounts (lower(name), id);
CREATE INDEX api_key_hint ON api_keys (hint, id);
CREATE INDEX audit_subject ON audit (subject, sequence);
CREATE INDEX audit_actor ON audit (actor, sequence);
