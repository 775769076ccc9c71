-- ban records the last ban of a key: one that a node imposes, unless another
-- imposed one meanwhile; or one that came from elsewhere, unless a newer one is
-- known. It returns 1 when the ban is now the last one, and the last one:
-- start (ms), end (s), level, when it was lifted (ms) or 0.
--
-- KEYS[1] the account's counts  KEYS[2] what is remembered of the key
-- ARGV  1 key  2 2: it is enforced  3 1: imposed now  4 start of the last one that it knew
--       5 start  6 end  7 level  8 lifted  9 seconds until it no longer matters
local o = redis.call('HMGET', KEYS[2], 'bs', 'be', 'bv', 'bl')
local bs, be, bv, bl = tonumber(o[1]) or 0, tonumber(o[2]) or 0, tonumber(o[3]) or 0, tonumber(o[4]) or 0
local start, lifted, field = tonumber(ARGV[5]), tonumber(ARGV[8]), 'b' .. ARGV[1]
if ARGV[3] == '1' then
  if bs > tonumber(ARGV[4]) then return {0, bs, be, bv, bl} end
else
  if start < bs then return {0, bs, be, bv, bl} end
  if start == bs then
    if bl == 0 and lifted > 0 then
      bl = lifted
      redis.call('HSET', KEYS[2], 'bl', bl)
      redis.call('HDEL', KEYS[1], field)
    end
    return {0, bs, be, bv, bl}
  end
end
forget(KEYS[2])
redis.call('HSET', KEYS[2], 'bs', start, 'be', ARGV[6], 'bv', ARGV[7], 'bl', lifted)
outlive(KEYS[2], tonumber(ARGV[9]))
if ARGV[2] == '2' and lifted == 0 then
  redis.call('HSET', KEYS[1], field, ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. ARGV[7])
  outlive(KEYS[1], tonumber(ARGV[9]))
else
  redis.call('HDEL', KEYS[1], field)
end
return {1, start, tonumber(ARGV[6]), tonumber(ARGV[7]), lifted}
