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
  fs, fn = tonumber(fs), tonumber(fn)
  if fs > s or (fs == s and fn > n) then s, n = fs, fn end
  if ss then
    ss, sn = tonumber(ss), tonumber(sn)
    if ss > s or (ss == s and sn > n) then s, n = ss, sn end
  end
  return s, n
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
