-- need tells whether this node is to lease a block for an account: others wait
-- for it, and the block is needed still. If not, others need not wait any more.
--
-- KEYS[1] the account's counts  ARGV  1 node  2 day  3 a block is needed when so little is left
local a = redis.call('HMGET', KEYS[1], 'c', 'ln')
if a[2] ~= ARGV[1] then return {0} end
local _, _, _, di, dc, df = counts(a[1])
if di ~= tonumber(ARGV[2]) or dc < 0 or df <= tonumber(ARGV[3]) then return {1} end
redis.call('HDEL', KEYS[1], 'lt', 'ln')
return {0}
