-- The number of migrations that the database has. One row.
CREATE TABLE petcat_schema (version bigint NOT NULL);
INSERT INTO petcat_schema (version) VALUES (0); -- migrate sets it

-- unixepoch is SQLite's function: unixepoch('subsec') is the Unix time in seconds with a fraction, by
-- the clock of the database. So the statements of package store are the same for both databases.
CREATE FUNCTION unixepoch(modifier text) RETURNS double precision LANGUAGE sql AS $$
	SELECT date_part('epoch', clock_timestamp())
$$;

-- Audit entries are only appended. The owner of the table can drop the trigger; the chain of hashes
-- shows the change.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'audit entries are never changed or deleted';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
	FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- Charges read the hours of one account. Pages have room for new versions of their rows, and the
-- small index on the hour does not change with them.
ALTER TABLE usage DROP CONSTRAINT usage_pkey, ADD PRIMARY KEY (account_id, hour), SET (fillfactor = 70);
CREATE INDEX usage_hour ON usage USING brin (hour);
ALTER TABLE usage_by_key DROP CONSTRAINT usage_by_key_pkey,
	ADD PRIMARY KEY (account_id, hour, key_id, operation), SET (fillfactor = 70);
CREATE INDEX usage_by_key_hour ON usage_by_key USING brin (hour);

-- The use of each account in its last minute, and in the day of that minute. A crash empties an
-- unlogged table; the day is then read from the table usage. There is one row for each account. Its
-- step changes every 64 requests, so that the index skips the dead versions of the row that a long
-- snapshot keeps, such as a backup's.
CREATE UNLOGGED TABLE spent (
	account_id  bigint NOT NULL,
	minute      bigint NOT NULL, -- Unix time / 60
	step        bigint NOT NULL DEFAULT 0, -- minute_used / 64
	minute_used bigint NOT NULL DEFAULT 0,
	day_used    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, minute, step)
) WITH (fillfactor = 50);

-- charge_quota charges one request to each of the accounts, to both windows or to neither. The
-- accounts must be in ascending order. A changed signature needs a new name, because nodes of the
-- previous version call this function.
--
-- The settings prevent scans of tables without statistics, for example on a new day, and a new plan
-- for each number of accounts.
CREATE FUNCTION charge_quota(accounts bigint[], per_minute bigint[], per_day bigint[])
RETURNS TABLE (now bigint, allowed boolean, minute_used bigint, day_used bigint) -- now in microseconds
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '200ms' AS $$
DECLARE
	account bigint;
	previous bigint;
	locked boolean;
	place tid;      -- of the account's row
	counted bigint; -- the row's minute
	this_minute bigint;
	i int := 1;     -- of the next request
	changed boolean;
	-- The rows to write.
	places tid[];
	minutes bigint[];
	days bigint[];
	written bigint;
BEGIN
	-- Counts need not be durable, and must not wait for a standby. A SET of the function would end
	-- before the commit.
	PERFORM set_config('synchronous_commit', 'off', true);
	-- The lock is a fair queue; sessions that wait for a row overtake each other. Only its holder
	-- writes the account's row, so a rejection locks no row and writes nothing.
	FOREACH account IN ARRAY accounts LOOP
		IF account < previous THEN
			RAISE EXCEPTION 'charge_quota: the accounts are not in order'; -- two calls could deadlock
		ELSIF account IS DISTINCT FROM previous THEN
			locked := pg_advisory_xact_lock(4611686018427387904 + account) IS NULL; -- PERFORM would take five times as long
			previous := account;
		END IF;
	END LOOP;
	-- One statement reads all rows and another writes them, because PostgreSQL takes longer to begin a
	-- statement than to find a row.
	FOR account, place, counted, minute_used, day_used IN
		SELECT a.id, t.ctid, t.minute, t.minute_used, t.day_used
		FROM (SELECT DISTINCT unnest(accounts) AS id) AS a LEFT JOIN LATERAL
			(SELECT s.ctid, s.* FROM spent AS s WHERE s.account_id = a.id ORDER BY s.minute DESC, s.step DESC LIMIT 1) AS t ON true
		ORDER BY a.id
	LOOP
		IF place IS NULL THEN
			INSERT INTO spent AS t (account_id, minute) VALUES (account, 0)
			RETURNING t.ctid, t.minute, t.minute_used, t.day_used INTO place, counted, minute_used, day_used;
		END IF;
		now := coalesce(now, date_part('epoch', clock_timestamp()) * 1000000); -- after the wait for the locks; extract() is slower
		this_minute := now / 60000000;
		IF counted <> this_minute THEN
			-- The usage history has the requests that were allowed before a crash emptied this
			-- table, and by nodes that decided without it.
			day_used := greatest(CASE WHEN counted / 1440 = this_minute / 1440 THEN day_used END,
				(SELECT coalesce(sum(u.requests), 0) FROM usage AS u WHERE u.account_id = account
					AND u.hour BETWEEN this_minute / 1440 * 24 AND this_minute / 1440 * 24 + 23));
			minute_used := 0;
		END IF;
		changed := false;
		WHILE accounts[i] = account LOOP
			allowed := minute_used < per_minute[i] AND day_used < per_day[i];
			IF allowed THEN
				minute_used := minute_used + 1;
				day_used := day_used + 1;
				changed := true;
			END IF;
			RETURN NEXT;
			i := i + 1;
		END LOOP;
		IF changed THEN
			places := places || place;
			minutes := minutes || minute_used;
			days := days || day_used;
		END IF;
	END LOOP;
	IF places IS NOT NULL THEN
		UPDATE spent AS t SET minute = this_minute, step = u.minute / 64, minute_used = u.minute, day_used = u.day
		FROM unnest(places, minutes, days) AS u (place, minute, day) WHERE t.ctid = u.place;
		GET DIAGNOSTICS written = ROW_COUNT;
		IF written <> cardinality(places) THEN
			RAISE EXCEPTION 'charge_quota: a row was written without the lock of its account';
		END IF;
	END IF;
END $$;
