-- take empties the block that is leased and not spent, to be given back to the
-- day store. It returns the day and how many.
--
-- KEYS[1] the account's counts
local s, n, mu, di, dc, df, ow, lc = counts(redis.call('HGET', KEYS[1], 'c'))
if dc < 0 or df <= 0 then return {0, 0} end
redis.call('HSET', KEYS[1], 'c', packed(s, n, mu, di, dc - df, 0, ow, lc))
return {di, df}
