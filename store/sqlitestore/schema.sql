-- One row per key. The keys are hashes, in no order, so that WITHOUT ROWID would take more room and more time.
-- Durations and times are in milliseconds, times since 1970 by the clock of the machine.
CREATE TABLE IF NOT EXISTS "dedup_record" (
  key_hash    BLOB    NOT NULL PRIMARY KEY, -- SHA-256 of the four parts, each after its length
  application BLOB    NOT NULL,             -- the parts, for people to read; one over 255 bytes as ~ and its SHA-256
  topic       BLOB    NOT NULL,
  tag         BLOB    NOT NULL,
  id          BLOB    NOT NULL,
  status      TEXT    NOT NULL,             -- CONSUMING, RELEASED, CONSUMED or PARKED
  owner       BLOB    NOT NULL,             -- token of who claimed, released, completed or parked
  attempts    INTEGER NOT NULL,             -- started runs, the running one included
  lease_ms    INTEGER NOT NULL,             -- of a claim
  horizon_ms  INTEGER NOT NULL,             -- of a claim: its lease ends so long before expire_time
  keep_ms     INTEGER NOT NULL,             -- of what is done or parked
  fence       INTEGER NOT NULL,             -- the number drawn last, 0 if none
  expire_time INTEGER NOT NULL              -- when the row counts as absent, whatever it says
);
CREATE INDEX IF NOT EXISTS "dedup_record_expiry" ON "dedup_record" (status, expire_time);
CREATE TABLE IF NOT EXISTS "dedup_record_schema" (version INTEGER NOT NULL);
INSERT INTO "dedup_record_schema" SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM "dedup_record_schema");
