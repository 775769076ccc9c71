-- take empties the block that is leased and not spent, to be given back to the
-- day store. It returns the day and how many.
--
-- KEYS[1] the account's counts
local a = redis.call('HMGET', KEYS[1], 'di', 'dc', 'df')
local df = tonumber(a[3]) or 0
if not a[2] or df <= 0 then return {0, 0} end
redis.call('HSET', KEYS[1], 'df', 0, 'dc', tonumber(a[2]) - df)
return {tonumber(a[1]), df}
