-- The table of records, version 1. Names are compared byte for byte: BINARY and
-- VARBINARY neither fold case nor ignore trailing spaces. Times are milliseconds
-- since 1970 by the server's clock, durations are milliseconds.
CREATE TABLE IF NOT EXISTS {table} (
  key_hash     BINARY(32)     NOT NULL COMMENT 'SHA-256 of the four parts, each after its length in four bytes',
  application  VARBINARY(256) NOT NULL COMMENT 'who consumes; a part over 255 bytes is ~ and its SHA-256',
  topic        VARBINARY(256) NOT NULL,
  tag          VARBINARY(256) NOT NULL,
  id           VARBINARY(256) NOT NULL COMMENT 'the business key',
  status       VARBINARY(16)  NOT NULL COMMENT 'CONSUMING, RELEASED, CONSUMED or PARKED',
  owner        BINARY(16)     NOT NULL COMMENT 'token of the delivery that wrote status',
  attempts     INT            NOT NULL COMMENT 'runs started, the running one included',
  max_attempts INT            NOT NULL COMMENT 'of the claim; 0 means no limit',
  lease_ms     BIGINT         NOT NULL COMMENT 'of the claim',
  horizon_ms   BIGINT         NOT NULL COMMENT 'how long the claim is remembered after its lease',
  keep_ms      BIGINT         NOT NULL COMMENT 'how long CONSUMED or PARKED is remembered',
  fence        BIGINT         NOT NULL DEFAULT 0 COMMENT 'last number drawn',
  found        INT            NOT NULL DEFAULT 0 COMMENT 'what the complete met',
  decision     BIGINT         NOT NULL DEFAULT 0 COMMENT 'scratch of a statement',
  change_time  BIGINT         NOT NULL COMMENT 'when status or owner changed last',
  expire_time  BIGINT         NOT NULL COMMENT 'when the record counts as absent; the lease of a claim ends horizon_ms before',
  PRIMARY KEY (key_hash),
  KEY status_expire_time (status, expire_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8 COMMENT='rocketmq-dedup records, version 1'
