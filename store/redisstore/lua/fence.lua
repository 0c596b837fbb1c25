-- fence: draws a number above every one drawn for the record before, and not below the server's time in
-- milliseconds, so that it rises even when the record was forgotten. The lease stays as it is.
-- KEYS   1 record
-- ARGV   1 token
-- Result {number}, which is above 0
--        {0} not owner, nothing changed
if not record or record.kind ~= 'P' or record.token ~= ARGV[1] then return {0} end
rearm(record)
local time = redis.call('TIME')
local fence = math.max(record.fence + 1, time[1] * 1000 + math.floor(time[2] / 1000))
write(math.max(ttl, 1), 'P', record.token, record.attempt, record.lease, record.horizon, fence)
return {fence}
