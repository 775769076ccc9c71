-- merge adds what a node admitted by itself to the minute that it was admitted
-- in, unless that is over. It returns the minute's use, or -1.
--
-- KEYS[1] the account's counts
-- ARGV  1 2 no earlier than this  3 the minute's index  4 its use as the node was told last  5 how many to add
--       6 7 in tests: the time
local ss, sn, su, di, dc, df, ow, lc = counts(redis.call('HGET', KEYS[1], 'c'))
local rs, rn = server_time(ARGV[6], ARGV[7])
local s, n = moment(tonumber(ARGV[1]), tonumber(ARGV[2]), ss, sn, rs, rn)
local minute = tonumber(ARGV[3])
if math.floor(s / 60) ~= minute then return {-1} end
local mu = math.floor(ss / 60) == minute and su or 0
mu = math.max(mu, tonumber(ARGV[4])) + tonumber(ARGV[5])
redis.call('HSET', KEYS[1], 'c', packed(s, n, mu, di, dc, df, ow, lc))
outlive(KEYS[1], 3600)
return {mu}
