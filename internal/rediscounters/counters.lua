#!lua
-- The script of shared counters: it does what package counters says, on one partition,
-- in one step. Because of the first line, replicas refuse to run it.
--
-- KEYS  1 the partition's epoch; then accounts, or keys of which early retries are counted
-- ARGV  1 charge, grant or retries
--       2 the epoch that the caller knows, and the one that begins if one is due;
--         in tests also the time, in seconds and nanoseconds
--       3 the numbers for each key, packed: to read texts takes a fifth of a decision's time
--       4 and 5, for retries: the node, and for how many seconds its word holds
--
-- It returns, packed, the epoch, when it began, and the time. The answers for the keys
-- follow if the epoch is the caller's.
local what, numbers, epochkey = ARGV[1], ARGV[3], KEYS[1]
local pack, unpack = struct.pack, struct.unpack
local callerepoch, nextepoch = unpack('<I6I6', ARGV[2])
local t = #ARGV[2] > 12 and {unpack('<I6I4', ARGV[2], 13)} or redis.call('TIME')
local now, nanos = tonumber(t[1]), #ARGV[2] > 12 and t[2] or t[2] * 1000

-- An epoch belongs to the server's replication id: that is another after each start and
-- each promotion, also of a server that was the primary before. It outlives all counts.
local info = redis.call('INFO', 'replication')
local _, at = string.find(info, 'master_replid:', 1, true)
local id = string.sub(info, at + 1, at + 40)
local life = 7 * 86400
local stored = redis.call('GET', epochkey)
if not stored or string.sub(stored, 17) ~= id then
  stored = pack('<I6I6I4', nextepoch, now, nanos) .. id
  redis.call('SET', epochkey, stored, 'EX', life)
elseif #KEYS == 1 then
  redis.call('EXPIRE', epochkey, life)
end
local epoch = unpack('<I6', stored)
local answers = {string.sub(stored, 1, 16) .. pack('<I6I4', now, nanos)}

if what == 'retries' then
  for i = 2, #KEYS do
    local key, sum = KEYS[i], 0
    redis.call('HSET', key, ARGV[4], pack('<i8I6I4', unpack('<i8', numbers, 8 * i - 15), now, nanos))
    local words = redis.call('HGETALL', key)
    for w = 1, #words, 2 do
      local retries, s, n = unpack('<i8I6I4', words[w + 1])
      local age = now - s + (nanos - n) / 1e9
      if age < 0 or age > tonumber(ARGV[5]) then
        redis.call('HDEL', key, words[w])
      elseif words[w] ~= ARGV[4] then
        sum = sum + retries
      end
    end
    redis.call('EXPIRE', key, 60)
    answers[i] = pack('<i8', sum)
  end
  return table.concat(answers)
end
if epoch ~= callerepoch then return answers[1] end

-- An account: what the last charge admitted, which is only its answer; the minute and its
-- use; the epoch and the day; of the day series, whether it is known, count, granted,
-- free, owed; granted and count of the next day.
local layout = '<I6I4I6I6I4I6BI6I6I6I6I6I6'
local empty = pack(layout, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
local min, max = math.min, math.max
local thisminute, today = math.floor(now / 60), math.floor(now / 86400)

for i = 2, #KEYS do
  local key = KEYS[i]
  local old = redis.call('GET', key)
  local _, minute, used, accountepoch, day, series, dayknown, count, granted, free, owed, tomorrowgranted, tomorrowcount = unpack(layout, old or empty)
  local admitted, turned = 0, false
  if what == 'charge' then
    local requests, reported, when, dayused, perminute, perday, overdraw, newseries = unpack('<i8i8i8i8i8i8i8i8', numbers, 64 * i - 127)
    if thisminute > minute then used = 0 end
    minute = thisminute
    turned = day ~= today or accountepoch ~= epoch
    if turned and day + 1 == today and accountepoch == epoch then
      dayknown, count, granted, free, owed = 1, tomorrowcount, tomorrowgranted, tomorrowgranted, 0
    elseif turned then
      series, dayknown, count, granted, free, owed = newseries, 0, 0, 0, 0, 0
    end
    if turned then accountepoch, day, tomorrowgranted, tomorrowcount = epoch, today, 0, 0 end
    if when == minute then used = used + reported end
    if dayknown == 1 and math.floor(when / 1440) == day then count = max(count, dayused) end
    if dayknown == 1 then admitted = max(0, min(requests, perminute - used, perday - (count - free + owed))) end
    local leased = min(admitted, free)
    free = free - leased
    if overdraw == 1 then owed = owed + admitted - leased else admitted = leased end
    used = used + admitted
  else
    local ofday, ofseries, sum, counted = unpack('<i8i8i8i8', numbers, 32 * i - 63)
    local mine = accountepoch == epoch and series == ofseries
    if mine and ofday == day and sum >= granted then
      if sum == granted then counted = max(counted, count) end
      local more = sum - granted
      local paid = min(owed, free + more)
      dayknown, granted, count, free, owed = 1, sum, counted, free + more - paid, owed - paid
    elseif mine and ofday == day + 1 and sum > tomorrowgranted then
      tomorrowgranted, tomorrowcount = sum, counted
    end
  end
  local new = pack(layout, admitted, minute, used, accountepoch, day, series, dayknown, count, granted, free, owed, tomorrowgranted, tomorrowcount)
  if turned then -- it stays until after the next day, which may have a grant already
    redis.call('SET', key, new, 'EX', (today + 1) * 86400 - now + 36 * 3600)
    redis.call('EXPIRE', epochkey, life)
  elseif old and new ~= old then
    redis.call('SET', key, new, 'KEEPTTL')
  end
  if what == 'charge' then answers[i] = new end
end
return table.concat(answers)
