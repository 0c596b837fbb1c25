-- Removes records that count as absent still, in the order of their keys, as
-- every statement takes rows: with one that goes by expire_time claims deadlock.
--
-- Answers: the number of rows.
DELETE FROM {table} WHERE ({keys}) AND {absent}
