-- need tells whether an account still needs the block that this node was to
-- lease; if not, others need not wait for it.
--
-- KEYS[1] the account's counts  ARGV  1 node  2 day  3 a block is needed when so little is left
local a = redis.call('HMGET', KEYS[1], 'di', 'dc', 'df', 'ln')
if tonumber(a[1]) ~= tonumber(ARGV[2]) or not a[2] or tonumber(a[3]) <= tonumber(ARGV[3]) then return {1} end
if a[4] == ARGV[1] then redis.call('HDEL', KEYS[1], 'lt', 'ln') end
return {0}
