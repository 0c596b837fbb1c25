-- release: gives the claim back and keeps the owner's memory, so that attempts are counted.
-- KEYS   1 record
-- ARGV   1 token, 2 the attempts that count for this claim: 1 when the callback was started, else 0
-- Result {1} released, now or by an earlier copy of this call
--        {0} not owner, nothing changed
if not record or record.token ~= ARGV[1] then return {0} end
if record.kind == 'R' then
  rearm(record)
  return {1}
end
if record.kind ~= 'P' then return {0} end
local attempt = math.max(record.attempt - 1 + ARGV[2], 0)
write(record.horizon, 'R', record.token, attempt, record.horizon, record.fence)
return {1}
