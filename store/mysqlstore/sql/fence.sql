-- Draws the next number of the owner. A record that has lost its expiry gets it
-- back.
--
-- Answers: the last insert id is the number, or 0 if no record matched.
UPDATE {table} SET
fence = LAST_INSERT_ID(GREATEST(fence + 1, {now})),
expire_time = LEAST(expire_time, {now} + lease_ms + {over})
WHERE ({owned}) AND {state} = 'CONSUMING' AND NOT ({absent})
