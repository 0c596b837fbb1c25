-- The usual claims over shared records, before anything else: of a key that is done, and of one that neither side
-- knows. KEYS, ARGV and result are those of compat.lua and claim.lua, which decide on every other.
do
  local word = redis.call('GET', KEYS[1])
  if word == 'CONSUMED' and redis.call('PTTL', KEYS[1]) > 0 then return {3, 0, 0} end
  if not word and not redis.call('GET', KEYS[2]) then
    local token, lease, horizon = ARGV[1], ARGV[2], ARGV[3]
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + lease
    redis.call('SET', KEYS[1], 'CONSUMING', 'PXAT', ends)
    redis.call('SET', KEYS[2], 'P|' .. token .. '|1|' .. lease .. '|' .. horizon .. '|0', 'PXAT', ends + horizon)
    return {1, 1, 0}
  end
end
