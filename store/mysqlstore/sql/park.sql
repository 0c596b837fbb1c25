-- Takes a claim out of circulation for {keep} milliseconds. A repeat changes
-- nothing.
--
-- Answers: the last insert id is 1 if the record matched, else 0.
UPDATE {table} SET
decision = 0 * LAST_INSERT_ID(1),
expire_time = IF({state} = 'CONSUMING', {now} + {keep}, expire_time),
keep_ms = IF({state} = 'CONSUMING', {keep}, keep_ms),
change_time = IF({state} = 'CONSUMING', {now}, change_time),
{setParked}
WHERE ({owned}) AND {state} IN ('CONSUMING', 'PARKED') AND NOT ({absent})
