-- Records for people and tools to read, those that count as absent included. What
-- has no topic is a pulse.
SELECT {names}, {state}, owner, attempts, lease_ms, horizon_ms, fence, expire_time,
	{leaseEnd} - {now}, LEAST(expire_time, 9000000000000000) - {now}, {absent}
FROM {table} WHERE topic <> '' AND {where}
