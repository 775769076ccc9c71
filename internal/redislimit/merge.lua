-- merge adds what a node admitted by itself to the minute that it was admitted
-- in, unless that is over. What the node tells is all that it admitted so in that minute, and what
-- it told before is remembered, so that it can be sent again. It returns the minute's use, or -1.
--
-- KEYS[1] the account's counts  KEYS[2] what the node told of that minute, a hash: n
-- ARGV  1 2 no earlier than this  3 the minute's index  4 its use as the node was told last
--       5 how many the node admitted  6 how many of them are part of that use  7 8 in tests: the time
local ss, sn, su, di, dc, df, ow, lc = counts(redis.call('HGET', KEYS[1], 'c'))
local rs, rn = server_time(ARGV[7], ARGV[8])
local s, n = moment(tonumber(ARGV[1]), tonumber(ARGV[2]), ss, sn, rs, rn)
local minute = tonumber(ARGV[3])
if math.floor(s / 60) ~= minute then return {-1} end
local mu = math.floor(ss / 60) == minute and su or 0
local admitted = tonumber(ARGV[5])
local counted = math.max(tonumber(ARGV[6]), tonumber(redis.call('HGET', KEYS[2], 'n')) or 0)
mu = math.max(mu, tonumber(ARGV[4])) + math.max(0, admitted - counted)
redis.call('HSET', KEYS[1], 'c', packed(s, n, mu, di, dc, df, ow, lc))
outlive(KEYS[1], 3600)
redis.call('HSET', KEYS[2], 'n', math.max(admitted, counted))
outlive(KEYS[2], 120)
return {mu}
