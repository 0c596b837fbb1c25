-- The table of the Java original after its upgrade, version 1. It names the
-- first six columns; whatever it writes leaves ours at their defaults. Names are
-- compared byte for byte. status stays a text: the original reads it as one.
CREATE TABLE IF NOT EXISTS {table} (
  application_name VARBINARY(766) NOT NULL,
  topic            VARBINARY(766) NOT NULL,
  tag              VARBINARY(766) NOT NULL,
  msg_uniq_key     VARBINARY(766) NOT NULL,
  status           VARCHAR(16)    NOT NULL,
  expire_time      BIGINT         NOT NULL,
  owner            BINARY(16)     NOT NULL DEFAULT '',
  attempts         INT            NOT NULL DEFAULT 1,
  max_attempts     INT            NOT NULL DEFAULT 0,
  lease_ms         BIGINT         NOT NULL DEFAULT 0,
  horizon_ms       BIGINT         NOT NULL DEFAULT 0,
  skew_ms          BIGINT         NOT NULL DEFAULT 0,
  keep_ms          BIGINT         NOT NULL DEFAULT 0,
  fence            BIGINT         NOT NULL DEFAULT 0,
  found            INT            NOT NULL DEFAULT 0,
  decision         BIGINT         NOT NULL DEFAULT 0,
  change_time      BIGINT         NOT NULL DEFAULT 0,
  mark             VARBINARY(16)  NOT NULL DEFAULT '',
  UNIQUE KEY uniq_key (application_name, topic, tag, msg_uniq_key),
  KEY status_expire_time (status, expire_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8
