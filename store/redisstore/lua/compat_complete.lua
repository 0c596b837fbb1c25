-- The usual complete over shared records, before anything else: of the caller's own claim, as main shows it, for
-- more than 1000 whole seconds. KEYS, ARGV and result are those of compat.lua and complete.lua, which decide on every
-- other. No number is made here: to write one costs as much as a command.
do
  local token, keep = ARGV[1], ARGV[2]
  local seconds = #keep > 6 and string.match(keep, '^(%d+)000$')
  local own = seconds and redis.call('GET', KEYS[2])
  local horizon = own and string.match(own, '^P|' .. token .. '|%d+|%d+|(%d+)|%d+$')
  if horizon and redis.call('GET', KEYS[1]) == 'CONSUMING' and
      redis.call('PTTL', KEYS[2]) - redis.call('PTTL', KEYS[1]) == tonumber(horizon) then
    redis.call('SET', KEYS[1], 'CONSUMED', 'EX', seconds)
    redis.call('SET', KEYS[2], 'D|' .. token .. '|' .. keep, 'PX', '600000')
    return {1}
  end
end
