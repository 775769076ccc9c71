-- need tells whether this node is to lease a block for an account: others wait
-- for it, and the block is needed still. If not, others need not wait any more.
--
-- KEYS[1] the account's counts  ARGV  1 node  2 day  3 a block is needed when so little is left
local a = redis.call('HMGET', KEYS[1], 'di', 'dc', 'df', 'ln')
if a[4] ~= ARGV[1] then return {0} end
if tonumber(a[1]) ~= tonumber(ARGV[2]) or not a[2] or tonumber(a[3]) <= tonumber(ARGV[3]) then return {1} end
redis.call('HDEL', KEYS[1], 'lt', 'ln')
return {0}
