-- What several scripts share; it is put in front of each.

-- server_time returns the server's time in seconds and nanoseconds, or in tests
-- the one that is made.
local function server_time(ts, tn)
  if ts then return tonumber(ts), tonumber(tn) end
  local t = redis.call('TIME')
  return tonumber(t[1]), tonumber(t[2]) * 1000
end

-- moment returns an account's time: never earlier than its last charge, nor than
-- what the asking node knows to have passed at the server.
local function moment(fs, fn, ss, sn, rs, rn)
  local s, n = rs, rn
  if fs > s or (fs == s and fn > n) then s, n = fs, fn end
  if ss > s or (ss == s and sn > n) then s, n = ss, sn end
  return s, n
end

-- counts unpacks an account's counts. They are one field, because eight fields take
-- a third of a decision's time. Who changes what they are changes the field's name:
-- counts that are not there are asked for anew, as from a server that was emptied.
--   s n    the account's clock: the latest moment at which it was charged, seconds and nanoseconds
--   mu     what was used of the minute that its clock is in
--   di     the day's index, or -1; of that day:
--   dc     what the day store counts as used or leased; -1: not known
--   df     leased and not spent
--   ow     admitted while the store was away
--   lc     when the store last told, in seconds
local packed = cmsgpack.pack
local function counts(c)
  if c then return cmsgpack.unpack(c) end
  return 0, 0, 0, -1, -1, 0, 0, 0
end

-- outlive makes a key live for so many seconds more, at least.
local function outlive(key, seconds)
  if redis.call('TTL', key) < seconds then redis.call('EXPIRE', key, seconds) end
end

-- forget drops the count of a key's early retries.
local function forget(key)
  local fields = {'r', 't'}
  for i = 0, 59 do fields[i + 3] = tostring(i) end
  redis.call('HDEL', key, unpack(fields))
end
