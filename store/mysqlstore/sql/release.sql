-- Gives claims back. {ran} is 0 when the attempt is given back, too. A repeat
-- changes nothing.
--
-- Answers: the last insert id is 1 if a record matched, else 0. Several records
-- are read back by read.sql.
UPDATE {table} SET
decision = 0 * LAST_INSERT_ID(1),
attempts = IF({state} = 'CONSUMING' AND {ran} = 0, attempts - 1, attempts),
expire_time = IF({state} = 'CONSUMING', {now} + {memory}, expire_time),
change_time = IF({state} = 'CONSUMING', {now}, change_time),
{released}
WHERE ({owned}) AND {state} IN ('CONSUMING', 'RELEASED') AND NOT ({absent})
