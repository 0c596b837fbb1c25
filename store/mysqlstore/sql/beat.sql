-- What a pulse is answered beside the number: the server's clock in microseconds,
-- what tells it from others, and for how many milliseconds records have been in
-- doubt, NULL if they are not.
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)),
	@@server_id, @@hostname, @@port,
	(SELECT {now} - change_time FROM {table} WHERE {keys} AND expire_time > {now})
