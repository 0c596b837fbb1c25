-- The usual complete over shared records, before anything else: of the caller's own claim, as main shows it.
-- KEYS, ARGV and result are those of compat.lua and complete.lua, which decide on every other.
do
  local token, keep = ARGV[1], ARGV[2]
  local own = redis.call('GET', KEYS[2])
  local horizon = own and string.match(own, '^P|' .. token .. '|%d+|%d+|(%d+)|%d+$')
  if horizon and redis.call('GET', KEYS[1]) == 'CONSUMING' and
      redis.call('PTTL', KEYS[2]) - redis.call('PTTL', KEYS[1]) == tonumber(horizon) then
    local time = redis.call('TIME')
    local now, whole = time[1] * 1000 + math.floor(time[2] / 1000), math.ceil(keep / 1000) * 1000
    redis.call('SET', KEYS[1], 'CONSUMED', 'PXAT', now + whole)
    redis.call('SET', KEYS[2], 'D|' .. token .. '|' .. keep, 'PXAT', now + math.min(whole, 600000))
    return {1}
  end
end
