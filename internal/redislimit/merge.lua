-- merge adds what a node admitted by itself to the minute that it was admitted
-- in, unless that is over. It returns the minute's use, or -1.
--
-- KEYS[1] the account's counts
-- ARGV  1 2 no earlier than this  3 the minute's index  4 its use as the node was told last  5 how many to add
--       6 7 in tests: the time
local a = redis.call('HMGET', KEYS[1], 's', 'n', 'mi', 'mu')
local rs, rn = server_time(ARGV[6], ARGV[7])
local s, n = moment(ARGV[1], ARGV[2], a[1], a[2], rs, rn)
local minute = tonumber(ARGV[3])
if math.floor(s / 60) ~= minute then return {-1} end
local mu = tonumber(a[3]) == minute and tonumber(a[4]) or 0
mu = math.max(mu, tonumber(ARGV[4])) + tonumber(ARGV[5])
redis.call('HSET', KEYS[1], 's', s, 'n', n, 'mi', minute, 'mu', mu)
outlive(KEYS[1], 3600)
return {mu}
