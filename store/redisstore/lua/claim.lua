-- claim: grants the key or says what holds it, in one step.
-- KEYS   1 record
-- ARGV   1 token, 2 lease, 3 horizon, 4 most attempts or 0 for no limit, 5 park keep (used with 4)
-- Result {0, 0, 0}          not owner: a late copy of a claim whose token was released
--        {1, attempt, 0}    claimed
--        {2, left, rearmed} busy for what is left of the lease
--        {3, 0, rearmed}    done
--        {4, 0, rearmed}    parked, perhaps by this claim
--        {5, 0, 0}          corrupt: the value is none of ours
--        rearmed is 1 when the record had lost its expiry and was given one
local token, lease, horizon, most, keep = unpack(ARGV)

local function grant(attempt, fence)
  write(lease + horizon, 'P', token, attempt, lease, horizon, fence)
  return {1, attempt, 0}
end

if not raw then return grant(1, 0) end
if not record then return {5, 0, 0} end
if record.kind == 'D' then return {3, 0, rearm(record)} end
if record.kind == 'X' then return {4, 0, rearm(record)} end
if record.token == token then
  if record.kind == 'R' then return {0, 0, 0} end
  return grant(record.attempt, record.fence)
end
if record.kind == 'P' then
  local rearmed = rearm(record)
  if ttl > record.horizon then return {2, ttl - record.horizon, rearmed} end
end
if tonumber(most) > 0 and record.attempt >= tonumber(most) then
  write(keep, 'X', string.rep('0', 32), record.attempt, keep)
  return {4, 0, 0}
end
return grant(record.attempt + 1, record.fence)
