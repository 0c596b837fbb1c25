-- record: how every script begins. Its last key is the record (the only key, but for compat.lua), and its value is
-- one of
--   P|token|attempt|lease|horizon|fence   in flight, expires after lease + horizon
--   R|token|attempt|horizon|fence         released, expires after horizon
--   D|token|keep                          done, expires after keep
--   X|token|attempt|keep                  parked, expires after keep; token is zeros when no owner parked it
-- token is 32 lower-case hex digits, durations are milliseconds, fence 0 means that none was drawn.
-- A value of another type ends the script here: GET raises WRONGTYPE and nothing has changed.
local raw = redis.call('GET', KEYS[#KEYS])
local ttl = redis.call('PTTL', KEYS[#KEYS])

local FIELDS = {
  P = {'attempt', 'lease', 'horizon', 'fence'},
  R = {'attempt', 'horizon', 'fence'},
  D = {'keep'},
  X = {'attempt', 'keep'},
}
local MAY_BE_ZERO = {attempt = true, fence = true}

-- decode returns the fields of a value, or nil when no script here would write it.
-- Numbers have at most 13 digits, because Lua writes no more than 14 exactly and scripts add to them.
local function decode(value)
  local kind, token, rest = string.match(value, '^([PRDX])|([0-9a-f]+)|([%d|]+)$')
  if not kind or #token ~= 32 then return nil end
  local record, names, i = {kind = kind, token = token}, FIELDS[kind], 0
  for digits in string.gmatch(rest .. '|', '(%d*)|') do
    i = i + 1
    local name, n = names[i], tonumber(digits)
    if not name or not n or #digits > 13 then return nil end
    if string.byte(digits) == 48 and (#digits > 1 or not MAY_BE_ZERO[name]) then return nil end
    record[name] = n
  end
  return i == #names and record or nil
end

-- life is how long the record lives when it has just been written.
local function life(record)
  if record.kind == 'P' then return record.lease + record.horizon end
  return record.keep or record.horizon
end

-- extend starts the life of the record anew.
local function extend(life)
  redis.call('PEXPIRE', KEYS[1], life)
end

-- rearm gives the record its expiry back if it has none, or one later than it can have been given
-- (PERSIST, a clock that jumped). It returns 1 if it did, else 0.
local function rearm(record)
  local longest = life(record)
  if ttl >= 0 and ttl <= longest then return 0 end
  extend(longest)
  ttl = longest
  return 1
end

-- write replaces the record: its fields in order, and how long it lives.
local function write(life, ...)
  redis.call('SET', KEYS[1], table.concat({...}, '|'), 'PX', life)
end

local record = raw and decode(raw)
