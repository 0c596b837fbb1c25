-- park: takes the key out of circulation.
-- KEYS   1 record
-- ARGV   1 token, 2 keep
-- Result {1} parked, now or by an earlier copy of this call
--        {0} not owner, nothing changed
if not record or record.token ~= ARGV[1] then return {0} end
if record.kind == 'X' then
  rearm(record)
  return {1}
end
if record.kind ~= 'P' then return {0} end
write(ARGV[2], 'X', record.token, record.attempt, ARGV[2])
return {1}
