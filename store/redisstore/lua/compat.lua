-- compat: how every script goes on, after record.lua, when the records are shared with the Java original. It makes
-- of what the original did a record that the rule of the script can judge, and shows the original what the rule
-- writes.
-- KEYS   1 main: all that the original knows. Its value is one of two words:
--          CONSUMING   in flight, expires when the lease ends; parked, expires after keep
--          CONSUMED    done, expires after keep
--        2 record: as in record.lua and in the same slot; a done one is kept for up to MEMORY only
-- A claim of ours expires in main exactly its horizon before it expires in the record. By that it is told from a
-- claim of the original's, which has the same value and no owner.
local MEMORY = 600000         -- how long it is remembered who completed, and that done was not to be deleted
local SKEW = 10               -- how far the migration of a slot may move the two expiries apart
local CLAIM_EXPIRE = 60000    -- the original's default, for a claim of its own that has no expiry
local DONE_EXPIRE = 86400000  -- the same for done

local word = redis.call('GET', KEYS[1])
local left = word and redis.call('PTTL', KEYS[1])
if left == 0 then word = false end -- it ends within this millisecond

-- held reports whether main shows the claim of the record. A server before 7.2 reads its clock for every PTTL, so
-- the second look is for one that was held up between the first two.
local function held()
  local function shows(ttl) return ttl > record.horizon and math.abs(ttl - record.horizon - left) <= SKEW end
  return left == -1 or shows(ttl) or shows(redis.call('PTTL', KEYS[2]))
end

local foreign = false -- the record stands for what the original wrote
if word == 'CONSUMED' then
  foreign = not record or record.kind ~= 'D'
  if foreign then
    record = {kind = 'D', token = '', keep = left == -1 and DONE_EXPIRE or left}
  else
    record.keep = math.max(record.keep, left)
  end
  raw, ttl = word, left
elseif word == 'CONSUMING' then
  foreign = not raw or record and (record.kind == 'R' or record.kind == 'P' and not held())
  if foreign then
    record = {kind = 'P', token = '', attempt = 0, lease = left == -1 and CLAIM_EXPIRE or left, horizon = 0, fence = 0}
    raw, ttl = word, left
  elseif left == -1 then
    ttl = left
  end
elseif word then
  raw, record = word, nil
end

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A server without memory permits what follows a first write that needs none; so the record comes first here.
extend = function(life)
  local now, claim = clock(), record.kind == 'P' and not foreign
  if not foreign then
    redis.call('PEXPIREAT', KEYS[2], now + (record.kind == 'D' and math.min(life, MEMORY) or life))
  end
  if claim and not word then
    redis.call('SET', KEYS[1], 'CONSUMING', 'PXAT', now + life - record.horizon)
  elseif claim then
    redis.call('PEXPIREAT', KEYS[1], now + life - record.horizon)
  elseif left == -1 then
    redis.call('PEXPIREAT', KEYS[1], now + life)
  end
end

write = function(life, kind, ...)
  local now = clock()
  if kind == 'P' then
    redis.call('SET', KEYS[1], 'CONSUMING', 'PXAT', now + life - select(4, ...))
  elseif kind == 'R' then
    redis.call('DEL', KEYS[1])
  elseif kind == 'X' then
    redis.call('SET', KEYS[1], 'CONSUMING', 'PXAT', now + life)
  else
    life = math.ceil(life / 1000) * 1000 -- whole seconds, as the original's SETEX
    redis.call('SET', KEYS[1], 'CONSUMED', 'PXAT', now + life)
    life = math.min(life, MEMORY)
  end
  redis.call('SET', KEYS[2], table.concat({kind, ...}, '|'), 'PXAT', now + life)
end
