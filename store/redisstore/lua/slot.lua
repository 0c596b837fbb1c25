-- slot: the names in one slot of a cluster that begin with a text. It stands alone, without record.lua.
-- KEYS   1 a name in the slot, so that a server runs this only while the whole slot is its own. Nobody may use it: were
--          it there, a slot on its way would not be told by ASK. Without it the server lists what it has.
-- ARGV   1 the slot, 2 the text, 3 how many names of any kind may be in the slot, because the server does nothing else
--        meanwhile
-- Result names, or the error CROWDED
local found, names = redis.call('CLUSTER', 'GETKEYSINSLOT', ARGV[1], ARGV[3] + 1), {}
if #found > tonumber(ARGV[3]) then
  return redis.error_reply('CROWDED slot ' .. ARGV[1] .. ' has more than ' .. ARGV[3] .. ' names, of one hash tag' ..
    ' perhaps: give records a cluster of their own')
end
for _, name in ipairs(found) do
  if string.sub(name, 1, #ARGV[2]) == ARGV[2] then names[#names + 1] = name end
end
return names
