-- look: what the record is now. It changes nothing: a record that has lost its expiry is told as if it had just been
-- given it back, because the next claim does that.
-- KEYS   1 record
-- Result {status, token, token, token, token, attempt, lease, horizon, fence, lease left, expires}, numbers all:
--        status is 0 without a record, 1 consuming, 2 lapsed, 3 consumed, 4 parked, 5 corrupt; the token is cut into
--        four of 32 bits; durations are milliseconds, and those of a claim only are not 0: lease left is below 0 since
--        the lease has ended; expires is when the record counts as absent
if not raw then return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} end
if not record then return {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, math.max(ttl, 0)} end

local longest, status = life(record), ({P = 1, R = 2, D = 3, X = 4})[record.kind]
local expires, left = (ttl < 0 or ttl > longest) and longest or ttl, 0
if status <= 2 then
  left = expires - record.horizon
  if left <= 0 then status = 2 end
end
local lease = record.token ~= '' and record.lease or 0 -- that of a claim of the original is not known
local answer = {status}
for i = 1, 25, 8 do
  answer[#answer + 1] = tonumber(string.sub(record.token, i, i + 7), 16) or 0
end
for _, n in ipairs({record.attempt or 0, lease, record.horizon or 0, record.fence or 0, left, expires}) do
  answer[#answer + 1] = n
end
return answer
