-- beat says that a node counts here, and returns the server's time (seconds,
-- microseconds), how many nodes do, and how many of them are not about to leave. It writes, so that it fails where a
-- charge would fail: on a replica, or without memory.
--
-- KEYS[1] the nodes  ARGV  1 node  2 for how long a beat counts, ms  3 for how long more this one does, ms
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], 60000)
return {tonumber(t[1]), tonumber(t[2]), redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[1], '-inf', now)}
