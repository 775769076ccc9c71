-- grant adds a block that was leased from the day store to what the account may
-- spend. The key of the lease makes a second attempt harmless, when the answer
-- to the first was lost. It returns 0, or 1 when the day is over and the block
-- is to go back.
--
-- KEYS[1] the account's counts  KEYS[2] the lease
-- ARGV  1 node  2 day  3 granted  4 the store's count  5 when it told, seconds
local id, day, count = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local a = redis.call('HMGET', id, 'c', 'ln')
local s, n, mu, di, dc, df, ow = counts(a[1])
if di > day then return {1} end
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', 120) then return {0} end

if di ~= day then dc, df, ow = -1, 0, 0 end -- the server was emptied
-- A node that took too long answers after the next: the later count holds.
if dc >= 0 and a[2] ~= ARGV[1] then count = math.max(dc, count) end
df = df + tonumber(ARGV[3])
-- What was admitted without the store is paid first: what is used stays used.
local pay = math.min(ow, df)
redis.call('HSET', id, 'c', packed(s, n, mu, day, count, df - pay, ow - pay, tonumber(ARGV[5])))
if a[2] == ARGV[1] then redis.call('HDEL', id, 'lt', 'ln') end
outlive(id, 86400 + 43200 - tonumber(ARGV[5]) % 86400)
return {0}
