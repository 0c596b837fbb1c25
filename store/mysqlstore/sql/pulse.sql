-- One sign of life of a node, or that an application doubts its records. It is a
-- row with a status of its own, which is no record: nobody else can have its key,
-- because no topic is empty.
--
-- Answers: the last insert id is 2^62 plus the number from before, less if there
-- was none: a table that is shared with the original may have a counter.
INSERT INTO {table} ({names}, status, owner, attempts, max_attempts,
	lease_ms, horizon_ms, keep_ms, fence, change_time, expire_time)
VALUES ({row})
ON DUPLICATE KEY UPDATE
decision = LAST_INSERT_ID(4611686018427387904 + IF(expire_time <= {now}, 0, fence)),
decision = 0,
fence = VALUES(fence),
change_time = VALUES(change_time),
expire_time = VALUES(expire_time)
