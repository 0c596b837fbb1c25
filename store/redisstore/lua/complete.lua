-- complete: records that the effect happened, whatever the record says. The longer keep stays.
-- KEYS   1 record
-- ARGV   1 token, 2 keep
-- Result what it found, all meaning that the record now says done
--        {1} completed: the caller's own claim, or its own complete
--        {2} already done by somebody else
--        {3} late: released, parked or taken over meanwhile
--        {4} recreated: there was no record
--        {5} repaired: the value was none of ours
local token, keep = ARGV[1], tonumber(ARGV[2])

local found = 3
if not raw then
  found = 4
elseif not record then
  found = 5
elseif record.kind == 'D' then
  found = record.token == token and 1 or 2
  keep = math.max(keep, record.keep)
elseif record.kind == 'P' and record.token == token then
  found = 1
end
write(keep, 'D', token, keep)
return {found}
