-- Removes a record, but not while the lease of a claim is running.
--
-- Answers: the number of rows, 0 or 1.
DELETE FROM {table} WHERE {keys}
AND NOT ({state} = 'CONSUMING' AND {leaseEnd} > {now} AND NOT ({absent})) AND NOT ({absent})
