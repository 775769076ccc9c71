-- The number of migrations that the database has. One row.
CREATE TABLE petcat_schema (version bigint NOT NULL);
INSERT INTO petcat_schema (version) VALUES (0); -- migrate sets it

CREATE INDEX category_revision ON categories (revision);

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
-- The settings prevent scans of tables without statistics, for example on a new day.
CREATE FUNCTION charge_quota(accounts bigint[], per_minute bigint[], per_day bigint[])
RETURNS TABLE (now bigint, admitted boolean, minute_used bigint, day_used bigint) -- now in microseconds
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '200ms' AS $$
DECLARE
	account bigint;
	place tid;      -- of the account's row
	counted bigint; -- the row's minute
	this_minute bigint;
	changed boolean;
BEGIN
	-- Counts need not be durable, and must not wait for a standby. A SET of the function would end
	-- before the commit.
	PERFORM set_config('synchronous_commit', 'off', true);
	FOR i IN 1 .. cardinality(accounts) LOOP
		IF account IS DISTINCT FROM accounts[i] THEN
			IF accounts[i] < account THEN
				RAISE EXCEPTION 'charge_quota: the accounts are not in order'; -- two calls could deadlock
			END IF;
			account := accounts[i];
			-- The lock is a fair queue; sessions that wait for a row overtake each other. Only its
			-- holder writes the row, so a refusal locks no row and writes nothing.
			-- It is never null, so changed is false. PERFORM would take five times as long.
			changed := pg_advisory_xact_lock(4611686018427387904 + account) IS NULL;
			SELECT t.ctid, t.minute, t.minute_used, t.day_used INTO place, counted, minute_used, day_used
			FROM spent AS t WHERE t.account_id = account ORDER BY t.minute DESC, t.step DESC; -- INTO reads one row
			IF NOT FOUND THEN
				INSERT INTO spent AS t (account_id, minute) VALUES (account, 0)
				RETURNING t.ctid, t.minute, t.minute_used, t.day_used INTO place, counted, minute_used, day_used;
			END IF;
			now := date_part('epoch', clock_timestamp()) * 1000000; -- after the wait for the lock; extract() is slower
			this_minute := now / 60000000;
			IF counted <> this_minute THEN
				-- The usage history has the requests that were admitted before a crash emptied this
				-- table, and by nodes that decided without it.
				day_used := greatest(CASE WHEN counted / 1440 = this_minute / 1440 THEN day_used END,
					(SELECT coalesce(sum(u.requests), 0) FROM usage AS u WHERE u.account_id = account
						AND u.hour BETWEEN this_minute / 1440 * 24 AND this_minute / 1440 * 24 + 23));
				minute_used := 0;
			END IF;
		END IF;
		admitted := minute_used < per_minute[i] AND day_used < per_day[i];
		IF admitted THEN
			minute_used := minute_used + 1;
			day_used := day_used + 1;
			changed := true;
		END IF;
		IF changed AND accounts[i + 1] IS DISTINCT FROM account THEN
			UPDATE spent AS t SET minute = this_minute, step = charge_quota.minute_used / 64,
				minute_used = charge_quota.minute_used, day_used = charge_quota.day_used
			WHERE t.ctid = place;
			IF NOT FOUND THEN
				RAISE EXCEPTION 'charge_quota: the row of account % was written without its lock', account;
			END IF;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
