-- The records that count as absent and have a status, the longest expired first.
-- Nothing is locked: the statement that removes them looks again.
SELECT {key}, expire_time FROM {table} WHERE {status} AND expire_time <= {now} AND {absent}
ORDER BY expire_time LIMIT {limit}
