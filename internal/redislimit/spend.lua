-- spend decides requests, one after the other, each charged to both windows or to
-- neither, all in one step. It returns facts of each, packed like the numbers it is given; what the callers are told is
-- worked out from them elsewhere, by the functions that all limiters share.
--
-- KEYS, two for each request:
-- the account's counts, a hash:
--   c      the counts that every charge needs: see counts in prelude.lua
--   lt ln  until when (seconds, with a fraction) which node is leasing: the others wait for it
--   b<key> a ban that is enforced: start (ms), end (s), level
-- what is remembered of the key since it was refused, a hash:
--   i0 s0 n0, i1 s1 n1  the first refusal by the minute and by the day
--   r t 0..59           early retries: the newest second, their sum, and the count of each second
--   bs be bv bl         its last ban: start (ms), end (s), level, when it was lifted (ms) or 0
-- ARGV  1 node  2 0: bans off, 1: shadow, 2: enforce  3 numbers of eight bytes each, because reading texts takes
--       a fifth of a decision's time; and in tests: the time
-- The numbers are two, the time that it is at least; and for each request:
--       perminute perday  its quotas          ahead  lease when so little is left
--       owe       1: the store is away, admit without it
--       keyid     its key
--       told tm   the minute's use that this node was told last, and that minute's index
--       ks ke kv  the key's last ban as this node knows it: start (ms), end (s) or 0 when it was lifted, level
local node, mode, numbers = ARGV[1], ARGV[2], ARGV[3]
local fs, fn = struct.unpack('<i8i8', numbers)
local rs, rn = server_time(ARGV[4], ARGV[5])

-- at is where the request's numbers begin.
local function spend(id, key, at)
  local perminute, perday, ahead, owe, keyid, told, tm, ks, ke, kv = struct.unpack('<i8i8i8i8i8i8i8i8i8i8', numbers, at)
  local ban = 'b' .. keyid
  local a = redis.call('HMGET', id, 'c', 'lt', ban)
  local ss, sn, su, di, dc, df, ow, lc = counts(a[1])
  local s, n = moment(fs, fn, ss, sn, rs, rn)
  local minute, day = math.floor(s / 60), math.floor(s / 86400)

  -- A server that was emptied or took over from another may have forgotten what
  -- it told this node: the larger count holds.
  local mu = math.floor(ss / 60) == minute and su or 0
  if tm == minute then mu = math.max(mu, told) end

  local oldday, unused = 0, 0
  if di ~= day then
    if df > 0 then oldday, unused = di, df end
    di, dc, df, ow, lc = day, -1, 0, 0, 0
    redis.call('HSET', id, 'c', packed(ss, sn, su, di, dc, df, ow, lc))
    outlive(id, (day + 1) * 86400 - s + 43200)
  end

  -- One node at a time leases: each block that is leased and not spent is lost to
  -- the account when the server forgets it. A node that leases for longer than half
  -- a second may be gone.
  local function lease()
    local now = s + n / 1e9
    if (tonumber(a[2]) or 0) > now then return 0 end
    redis.call('HSET', id, 'lt', now + 0.5, 'ln', node)
    return 1
  end

  local early, bs, be, bv, bl = 0, 0, 0, 0, 0
  local function facts(code, leasing)
    return struct.pack('<i8i8i8i8i8i8i8i8i8i8i8i8i8i8i8i8', code, s, n, mu, dc >= 0 and dc - df + ow or 0, leasing,
      rs, rn, oldday, unused, ow, early, bs, be, bv, bl)
  end

  if dc < 0 then return facts(4, lease()) end

  if mode == '2' then
    if a[3] then
      local x, y, z = string.match(a[3], '^(%d+) (%d+) (%d+)$')
      bs, be, bv = tonumber(x), tonumber(y), tonumber(z)
    end
    if ks > bs or (ks == bs and ke == 0) then
      bs, be, bv = ks, ke, kv
      if ke > s then
        redis.call('HSET', id, ban, bs .. ' ' .. be .. ' ' .. bv)
        outlive(id, be - s + 3600)
      elseif a[3] then
        redis.call('HDEL', id, ban)
      end
    end
    if s < be then return facts(3, 0) end
    if be > 0 and a[3] then redis.call('HDEL', id, ban) end
  end

  if dc - df + ow < perday and mu < perminute then
    if df > 0 then
      df = df - 1
    elseif owe == 1 then
      ow = ow + 1
    else
      return facts(5, lease())
    end
    mu = mu + 1
    redis.call('HSET', id, 'c', packed(s, n, mu, di, dc, df, ow, lc))
    local leasing = 0
    if df <= ahead and dc < perday then leasing = lease() end
    if rs == s and rn == n and ow == 0 then return struct.pack('<i8i8i8i8i8i8', 0, s, n, mu, dc - df, leasing) end
    return facts(0, leasing)
  end

  local code, leasing = 1, 0
  if dc - df + ow >= perday then
    code = 2
    -- Others may have given something back since the store was asked.
    if s - lc >= 15 then leasing = lease() end
  end
  if mode == '0' then return facts(code, leasing) end

  local w, index = '0', minute
  if code == 2 then w, index = '1', day end
  local o = redis.call('HMGET', key, 'i' .. w, 's' .. w, 'n' .. w, 'r', 't', 'bs', 'be', 'bv', 'bl')
  if o[6] and tonumber(o[6]) >= bs then
    bs, be, bv, bl = tonumber(o[6]), tonumber(o[7]), tonumber(o[8]), tonumber(o[9])
    -- A ban that is only counted: nothing adds to it.
    if bl == 0 and s < be then return facts(code, leasing) end
  end

  local fs, fn = tonumber(o[2]), tonumber(o[3])
  if tonumber(o[1]) ~= index then
    fs, fn = s, n
    redis.call('HSET', key, 'i' .. w, index, 's' .. w, s, 'n' .. w, n)
    outlive(key, (day + 1) * 86400 - s + 3600)
  end
  local newest = tonumber(o[4])
  if newest then
    early = tonumber(o[5])
    if s - newest >= 60 then
      forget(key)
      newest, early = nil, 0
    else
      for second = newest + 1, s do
        local slot = tostring(second % 60)
        local count = redis.call('HGET', key, slot)
        if count then
          early = early - tonumber(count)
          redis.call('HDEL', key, slot)
        end
      end
    end
  end
  if (s - fs) * 1e9 + (n - fn) > 2e9 then
    early = early + 1
    redis.call('HINCRBY', key, tostring(s % 60), 1)
    newest = newest or s
  end
  if newest then redis.call('HSET', key, 'r', math.max(s, newest), 't', early) end
  return facts(code, leasing)
end

local answers = {}
for i = 1, #KEYS / 2 do answers[i] = spend(KEYS[2 * i - 1], KEYS[2 * i], 17 + 80 * (i - 1)) end
return answers
