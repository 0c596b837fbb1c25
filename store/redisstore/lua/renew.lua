-- renew: starts the stored lease anew. It writes no value, so a server that is out of memory permits it.
-- KEYS   1 record
-- ARGV   1 token
-- Result {1} renewed
--        {0} not owner, nothing changed
if not record or record.kind ~= 'P' or record.token ~= ARGV[1] then return {0} end
extend(life(record))
return {1}
