-- forget: removes the record, but not while the lease of a claim is running.
-- KEYS   1 record
-- Result {0} there is none
--        {1} removed
--        {2} in flight, nothing changed
if not raw then return {dropped} end
if record and record.kind == 'P' and (ttl < 0 or ttl > record.horizon) then return {2} end
redis.call('DEL', unpack(KEYS))
return {1}
