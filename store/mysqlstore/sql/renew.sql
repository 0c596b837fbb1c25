-- Starts the stored lease of claims anew, lapsed ones included.
--
-- Answers: the last insert id is 1 if a record matched, else 0. Several records
-- are read back by read.sql.
UPDATE {table} SET
decision = 0 * LAST_INSERT_ID(1),
expire_time = {now} + lease_ms + {over}
WHERE ({owned}) AND {state} = 'CONSUMING' AND NOT ({absent})
