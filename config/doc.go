// Package config reads what a consumer needs from a file and the environment
// and says everything that is wrong with it at once. Use this when settings
// should not be code: as dedupctl does, or in a service of your own together with
// package config/open, which builds store and listener from it.
//
// Start with [Load]. It reads YAML, TOML or JSON, connects to nothing, and
// returns either a [Config] that fits together or [Problems]:
//
//	consumer.yaml: defaults.lease: 10: needs a unit, e.g. 10s
//	consumer.yaml: topics[0].nme: unknown key; did you mean "name"?
//
// [Config.Warnings] then has what works and is probably not wanted. What this
// package does not check is whether servers can be reached and what they are
// set to.
//
// # Strictness
//
// Keys are spelt exactly, a key may be there once, durations have a unit, texts
// that look like numbers need quotes. A file is at most 1 MiB long, has one
// document, and its YAML aliases stay small when written out.
//
// # Environment and secrets
//
// DEDUP_ROCKETMQ_GROUP overrides rocketmq.group, and so on for every key outside
// the list of topics; lists are separated by commas; empty counts as not set. A
// secret is best given that way, or by the name of a file in its …_file key, of
// which line ends at the end are cut off. The DSN of a database is a secret as a
// whole. Paths are relative to the folder of the
// configuration file. No method and no formatting of Config shows a secret.
//
// # Keys
//
//	key                                      default         meaning
//	application                              the group       first part of every key
//	rocketmq.name_servers                    required        list of host:port
//	rocketmq.broker_addrs                    asked for       list of host:port: masters that get the retry topic
//	rocketmq.group                           required        consumer group
//	rocketmq.namespace                       none            prefix of group and topics
//	rocketmq.instance_name                   unique          name of this client among those of its address
//	rocketmq.access_key                      none            of access control, with secret_key
//	rocketmq.secret_key                      none            secret; better in the environment or in a file
//	rocketmq.secret_key_file                 none            file that holds it
//	rocketmq.tls                             false           encrypt; the client does not verify the server
//	rocketmq.message_model                   clustering      broadcasting is refused
//	rocketmq.consume_from                    last            first or last: where a new group begins
//	rocketmq.consume_message_batch_max_size  32              messages per batch, 1 to 1024
//	rocketmq.pull_batch_size                 32              messages per pull, 1 to 1024; bounds a batch
//	rocketmq.consume_goroutines              20              batches at once per topic, 1 to 100000
//	rocketmq.parallel                        4               messages of one batch at once, 1 to 1024
//	rocketmq.consume_timeout                 15m             after which the client sends a running message back
//	rocketmq.max_reconsume_times             16              retries before the dead-letter queue; -1 means 16
//	rocketmq.delay_levels                    1s 5s 10s … 2h  list: messageDelayLevel of the broker
//	store.type                               redis           redis, mysql, sqlite or memory
//	store.watch                              true            look every second for lost records and tell; not sqlite
//	store.redis.addrs                        required        list of host:port: server, cluster nodes or sentinels
//	store.redis.username                     none            of Redis ACL
//	store.redis.password                     none            secret; better in the environment or in a file
//	store.redis.password_file                none            file that holds it
//	store.redis.db                           0               number of the database
//	store.redis.cluster                      false           addrs are nodes of a cluster
//	store.redis.sentinel.master_name         none            addrs are sentinels of this master
//	store.redis.sentinel.username            none            of the sentinels
//	store.redis.sentinel.password            none            secret of the sentinels
//	store.redis.sentinel.password_file       none            file that holds it
//	store.redis.tls.enabled                  false           encrypt and verify the server
//	store.redis.tls.insecure                 false           encrypt, but do not verify the server
//	store.redis.tls.ca_file                  the system's    PEM file of the authorities to trust
//	store.redis.tls.cert_file                none            PEM file of the client's certificate, with key_file
//	store.redis.tls.key_file                 none            PEM file of its key
//	store.redis.tls.server_name              from addrs      name in the server's certificate
//	store.redis.pool_size                    the client's    connections per server
//	store.redis.dial_timeout                 5s              to connect
//	store.redis.read_timeout                 1s              for one answer; must be below a 12th of every lease
//	store.redis.write_timeout                1s              to send
//	store.redis.prefix                       dedup:          begins the name of every record; not with java_compatible
//	store.redis.allow_eviction               false           accept a server that drops records when full
//	store.redis.no_pipelining                false           send every call by itself, not with those of others
//	store.redis.java_compatible              false           share records with consumers that use the Java original
//	store.mysql.dsn                          none            secret: user:password@tcp(host:port)/database?parameter=value
//	store.mysql.dsn_file                     none            file that holds it
//	store.mysql.address                      required        host:port; this and the next four: unless there is a dsn
//	store.mysql.database                     required        database that the table is in
//	store.mysql.username                     required        user
//	store.mysql.password                     none            secret; better in the environment or in a file
//	store.mysql.password_file                none            file that holds it
//	store.mysql.tls.enabled                  false           encrypt and verify the server; the rest as in store.redis.tls
//	store.mysql.tls.insecure                 false           encrypt, but do not verify the server
//	store.mysql.tls.ca_file                  the system's    PEM file of the authorities to trust
//	store.mysql.tls.cert_file                none            PEM file of the client's certificate, with key_file
//	store.mysql.tls.key_file                 none            PEM file of its key
//	store.mysql.tls.server_name              from address    name in the server's certificate
//	store.mysql.max_open                     16              connections, 4 to 10000
//	store.mysql.max_idle                     all             connections that are kept for later, up to max_open
//	store.mysql.max_lifetime                 30m             after which a connection is made anew
//	store.mysql.dial_timeout                 5s              to connect; the dsn's own timeout goes before
//	store.mysql.read_timeout                 10s             for one answer, 2s or more; the dsn's own readTimeout goes before
//	store.mysql.write_timeout                5s              to send; the dsn's own writeTimeout goes before
//	store.mysql.table                        dedup_record    table of the records; t_rocketmq_dedup with java_compatible
//	store.mysql.migrate                      false           make the table at start, or mend it
//	store.mysql.retries                      3               of a call that failed in a way worth repeating, 0 to 100
//	store.mysql.java_compatible              false           share records with consumers that use the Java original
//	store.mysql.skew                         10s             how far their clocks may be from the server's, up to 1h
//	store.sqlite.file                        required        the database, which is made when it is not there
//	store.sqlite.table                       dedup_record    table of the records
//	store.sqlite.synchronous                 full            full survives the loss of power, normal the end of the process
//	store.sqlite.busy_timeout                5s              to wait while another process writes, up to 1h
//	store.sweep.enabled                      true            remove expired records; for mysql and sqlite
//	store.sweep.every                        1m              pause when nothing more has expired, up to 24h
//	store.sweep.batch                        500             records at once, 1 to 10000
//	store.sweep.share                        0.1             most of the time that it may take, 0.001 to 1
//	defaults.lease                           30s             how long a claim holds without renewal
//	defaults.max_consume                     10m             longest that a callback may hold a key
//	defaults.keep                            24h             how long a finished key is remembered
//	defaults.horizon                         3h              how long attempts of unfinished keys are remembered
//	defaults.max_attempts                    0               runs before a key is given up and parked; 0: no limit
//	defaults.outage                          hold            when the store is down: hold, retry later or run unprotected
//	defaults.hold_limit                      1m40s           how long to hold; less if rocketmq.consume_timeout wants it
//	defaults.busy_wait                       off             how long a copy waits for the one this process is at
//	topics[].name                            required        topic
//	topics[].tags                            all             tags such as paid || refunded
//	topics[].key                             default         key expression; see listener.ParseKey; message_id with
//	                                                         java_compatible, as in the original
//	topics[].lease                           as in defaults  and so for the next seven
//	topics[].max_consume                     as in defaults
//	topics[].keep                            as in defaults
//	topics[].horizon                         as in defaults
//	topics[].max_attempts                    as in defaults
//	topics[].outage                          as in defaults
//	topics[].hold_limit                      as in defaults
//	topics[].busy_wait                       as in defaults
//	drain_timeout                            30s             how long a stop waits for callbacks and records
//	journal_limit                            10000           successes that may wait for the store before claiming stops
//	log.level                                info            debug, info, warn or error
//	log.format                               text            text or json
//
// Records that are sharded over several databases are a matter of code, not of a
// configuration. A duration is written 500ms, 10s, 5m or 24h.
package config
