-- Claims and completes, one row each, in the order of the primary key. A row
-- with status CONSUMING is a claim: owner is its token, keep_ms how long a park
-- by it keeps. A row with status CONSUMED is a complete. change_time is now.
--
-- Assignments are made one after the other, each seeing those before it.
-- decision comes first, from what the row says: a code times 2^44, plus the
-- attempt of a grant or what is left of another's lease. At the end it is 0
-- again, so that a record whose claim is refused is not written.
--
-- A statement that waits for a row has an older now than the one that wrote the
-- row meanwhile: only an expiry that is late by more than {slack} was lost.
--
-- Answers: a single row leaves its decision as the last insert id, which is 0
-- when there was no record. Several rows are read back by read.sql; for it, a
-- claim that gave a record its expiry back leaves the head of its token in
-- decision.
INSERT INTO {table} ({names}, status, owner, attempts, max_attempts,
	lease_ms, horizon_ms, keep_ms, found, change_time, expire_time{more})
VALUES {rows}
ON DUPLICATE KEY UPDATE
decision = CASE
	WHEN VALUES(status) = 'CONSUMED' THEN CASE
		WHEN {wasAbsent} THEN {recreated}
		WHEN {state} = 'CONSUMED' THEN IF(owner = VALUES(owner), {repeated}, {already})
		WHEN {state} = 'CONSUMING' THEN IF(owner = VALUES(owner), {completed}, {late})
		WHEN {state} IN ('RELEASED', 'PARKED') THEN {late}
		ELSE {repaired} END
	WHEN {wasAbsent} THEN {claimed} + 1
	WHEN {state} = 'CONSUMED' THEN IF(expire_time - {slack} > {wasLatest}, {doneRearmed}, {done})
	WHEN {state} = 'PARKED' THEN IF(expire_time - {slack} > {this} + keep_ms, {parkedRearmed}, {parked})
	WHEN {state} = 'CONSUMING' AND owner = VALUES(owner) THEN {claimed} + attempts
	WHEN {state} = 'CONSUMING' AND {bounded} AND {leaseEnd} - {slack} > {this} + lease_ms THEN {busyRearmed} + lease_ms
	WHEN {state} = 'CONSUMING' AND {leaseEnd} > {this} THEN {busy} + {leaseEnd} - {this}
	WHEN {state} = 'RELEASED' AND owner = VALUES(owner) THEN {notOwner}
	WHEN {state} IN ('CONSUMING', 'RELEASED') THEN
		IF(VALUES(max_attempts) > 0 AND attempts >= VALUES(max_attempts), {park}, {claimed} + attempts + 1)
	ELSE {corrupt} END,
attempts = CASE
	WHEN {code} = {claimed.code} THEN decision & 17592186044415
	WHEN {code} IN ({recreated.code}, {repaired.code}) THEN 0
	ELSE attempts END,
owner = CASE
	WHEN {code} IN ({claimed.code}, {ended.codes}) THEN VALUES(owner)
	WHEN {code} = {park.code} THEN X'00000000000000000000000000000000'
	ELSE owner END,
max_attempts = IF({code} = {claimed.code}, VALUES(max_attempts), max_attempts),
lease_ms = IF({code} = {claimed.code}, VALUES(lease_ms), lease_ms),
expire_time = CASE
	WHEN {code} IN ({claimed.code}, {ended.codes}) THEN VALUES(expire_time)
	WHEN {code} IN ({repeated.code}, {already.code}) THEN GREATEST(VALUES(expire_time), LEAST(expire_time, {wasLatest}))
	WHEN {code} = {park.code} THEN {this} + VALUES(keep_ms)
	WHEN {code} IN ({doneRearmed.code}, {parkedRearmed.code}) THEN {this} + keep_ms
	WHEN {code} = {busyRearmed.code} THEN {this} + lease_ms + {over}
	ELSE expire_time END,
horizon_ms = IF({code} = {claimed.code}, VALUES(horizon_ms), horizon_ms),
keep_ms = CASE
	WHEN {code} IN ({claimed.code}, {park.code}, {ended.codes}) THEN VALUES(keep_ms)
	WHEN {code} IN ({repeated.code}, {already.code}) THEN GREATEST(keep_ms, VALUES(keep_ms))
	ELSE keep_ms END,
change_time = IF({code} IN ({claimed.code}, {park.code}, {ended.codes}), VALUES(change_time), change_time),
found = CASE
	WHEN {code} IN ({ended.codes}) THEN {code}
	WHEN {code} = {repeated.code} THEN {completed.code}
	ELSE found END,
{decide}
decision = IF(LAST_INSERT_ID(decision) >> 44 IN ({busyRearmed.code}, {doneRearmed.code}, {parkedRearmed.code}),
	CONV(HEX(LEFT(VALUES(owner), 6)), 16, 10), 0)
