package config

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// Config is a whole configuration. Make it with [Load], or from [Default] and
// by hand; only [Config.Validate] knows whether it is usable. Printing, encoding
// and logging it never shows a secret.
type Config struct {
	Application  string        `yaml:"application"`   // first part of every key
	RocketMQ     RocketMQ      `yaml:"rocketmq"`      // the consumer
	Store        Store         `yaml:"store"`         // where records are kept
	Defaults     Policy        `yaml:"defaults"`      // what topics do not say themselves
	Topics       []Topic       `yaml:"topics"`        // what is consumed
	DrainTimeout time.Duration `yaml:"drain_timeout"` // how long a stop waits for running callbacks
	JournalLimit int           `yaml:"journal_limit"` // successes that may wait to be recorded
	Log          Log           `yaml:"log"`

	found Problems // warnings that only loading could see
}

// RocketMQ is how to consume.
type RocketMQ struct {
	NameServers   []string `yaml:"name_servers"`
	BrokerAddrs   []string `yaml:"broker_addrs"` // masters, for the retry topic; empty: found through the name servers
	Group         string   `yaml:"group"`
	Namespace     string   `yaml:"namespace"`
	InstanceName  string   `yaml:"instance_name"` // empty: one that nobody else has
	AccessKey     string   `yaml:"access_key"`
	SecretKey     Secret   `yaml:"secret_key"`
	SecretKeyFile string   `yaml:"secret_key_file"`
	TLS           bool     `yaml:"tls"` // encrypts; the client does not verify the server

	MessageModel               string        `yaml:"message_model"` // clustering
	ConsumeFrom                string        `yaml:"consume_from"`  // first or last, for a new group
	ConsumeMessageBatchMaxSize int           `yaml:"consume_message_batch_max_size"`
	PullBatchSize              int           `yaml:"pull_batch_size"`
	ConsumeGoroutines          int           `yaml:"consume_goroutines"` // batches at once, per topic
	Parallel                   int           `yaml:"parallel"`           // messages of one batch at once
	ConsumeTimeout             time.Duration `yaml:"consume_timeout"`
	MaxReconsumeTimes          int           `yaml:"max_reconsume_times"`

	DelayLevels []time.Duration `yaml:"delay_levels"` // messageDelayLevel of the broker
}

// Store is where records are kept.
type Store struct {
	Type   string `yaml:"type"`  // redis, mysql, sqlite or memory
	Watch  bool   `yaml:"watch"` // look whether it loses records
	Redis  Redis  `yaml:"redis"`
	MySQL  MySQL  `yaml:"mysql"`
	SQLite SQLite `yaml:"sqlite"`
	Sweep  Sweep  `yaml:"sweep"` // of mysql and sqlite
}

// Redis is how to reach Redis: one server, a cluster, or a master found through
// sentinels.
type Redis struct {
	Addrs         []string      `yaml:"addrs"` // the server's, the cluster's or the sentinels'
	Username      string        `yaml:"username"`
	Password      Secret        `yaml:"password"`
	PasswordFile  string        `yaml:"password_file"`
	DB            int           `yaml:"db"`
	Cluster       bool          `yaml:"cluster"`
	Sentinel      Sentinel      `yaml:"sentinel"`
	TLS           TLS           `yaml:"tls"`
	PoolSize      int           `yaml:"pool_size"` // 0: the client's default
	DialTimeout   time.Duration `yaml:"dial_timeout"`
	ReadTimeout   time.Duration `yaml:"read_timeout"`
	WriteTimeout  time.Duration `yaml:"write_timeout"`
	Prefix        string        `yaml:"prefix"`         // begins the name of every record; empty with JavaCompatible
	AllowEviction bool          `yaml:"allow_eviction"` // accept a server that may drop records
	NoPipelining  bool          `yaml:"no_pipelining"`  // send every call by itself

	JavaCompatible bool `yaml:"java_compatible"` // records are those of the Java original
}

// Sentinel is how to ask sentinels for the master. It is in use when MasterName
// is set.
type Sentinel struct {
	MasterName   string `yaml:"master_name"`
	Username     string `yaml:"username"`
	Password     Secret `yaml:"password"`
	PasswordFile string `yaml:"password_file"`
}

// Policy says how messages are treated. A zero field is taken from
// [Config].Defaults, and there it means the default of package dedup.
type Policy struct {
	Lease       time.Duration `yaml:"lease"`
	MaxConsume  time.Duration `yaml:"max_consume"`
	Keep        time.Duration `yaml:"keep"`
	Horizon     time.Duration `yaml:"horizon"`
	MaxAttempts int           `yaml:"max_attempts"` // NoLimit in a topic: whatever the defaults say
	Outage      string        `yaml:"outage"`       // hold, retry or run
	HoldLimit   time.Duration `yaml:"hold_limit"`
	BusyWait    time.Duration `yaml:"busy_wait,omitempty"` // 0: off
}

// NoLimit as MaxAttempts of a topic lifts the limit of the defaults. In a file
// it is written 0.
const NoLimit = -1

// Topic is one subscription.
type Topic struct {
	Name   string `yaml:"name"`
	Tags   string `yaml:"tags"` // "A || B"; empty: all
	Key    string `yaml:"key"`  // see listener.ParseKey; empty: see Config.KeyOf
	Policy `yaml:",inline"`
}

// Log is how to log.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// Default returns a configuration with every default filled in. What has none
// is still missing: the name servers, the group, the application, the topics,
// the address of Redis, or the type and the address of another store.
func Default() Config {
	return Config{
		RocketMQ: RocketMQ{
			MessageModel:               "clustering",
			ConsumeFrom:                "last",
			ConsumeMessageBatchMaxSize: 32,
			PullBatchSize:              32, // the most that a broker gives by default
			ConsumeGoroutines:          20,
			Parallel:                   4, // 80 messages of a topic at once
			ConsumeTimeout:             listener.DefaultConsumeTimeout,
			MaxReconsumeTimes:          listener.DefaultMaxReconsumeTimes,
			DelayLevels:                listener.DefaultDelayLevels(),
		},
		Store: Store{
			Type:  "redis",
			Watch: true,
			Redis: Redis{
				DialTimeout:  5 * time.Second,
				ReadTimeout:  time.Second,
				WriteTimeout: time.Second,
				Prefix:       "dedup:",
			},
			MySQL: MySQL{
				MaxOpen:      16,
				MaxLifetime:  30 * time.Minute,
				DialTimeout:  5 * time.Second,
				ReadTimeout:  10 * time.Second, // a step of a sweep takes so long at most
				WriteTimeout: 5 * time.Second,
				Retries:      3,
				Skew:         10 * time.Second,
			},
			SQLite: SQLite{Table: "dedup_record", Synchronous: "full", BusyTimeout: 5 * time.Second},
			Sweep: Sweep{
				Enabled: true, Every: sweep.DefaultEvery, Batch: sweep.DefaultBatch, Share: sweep.DefaultShare,
			},
		},
		DrainTimeout: 30 * time.Second,
		JournalLimit: dedup.DefaultJournalLimit,
		Log:          Log{Level: "info", Format: "text"},
	}
}

// PolicyOf is the policy in effect for t: its own settings, then the Defaults,
// then those of package dedup.
func (c Config) PolicyOf(t Topic) dedup.Policy {
	own, base := t.dedup(), c.Defaults.dedup()
	if t.MaxAttempts == NoLimit {
		base.MaxAttempts = 0
	}
	return own.Over(base).WithDefaults()
}

// KeyOf is the key expression in effect for t, see [listener.ParseKey]: its own,
// or the message id where records are shared with the Java original, which has
// that for its default, or "default".
func (c Config) KeyOf(t Topic) string {
	switch {
	case t.Key != "":
		return t.Key
	case c.Store.javaCompatible():
		return "message_id"
	}
	return "default"
}

var outages = []dedup.Outage{dedup.OutageHold, dedup.OutageRetry, dedup.OutageRun}

func (p Policy) dedup() dedup.Policy {
	out := dedup.Policy{
		Lease: p.Lease, MaxConsume: p.MaxConsume, Keep: p.Keep, Horizon: p.Horizon,
		MaxAttempts: max(p.MaxAttempts, 0), HoldLimit: p.HoldLimit,
		BusyWait: p.BusyWait,
	}
	for _, o := range outages {
		if o.String() == p.Outage {
			out.Outage = o
		}
	}
	return out
}

// written is p as a file would say it.
func written(p dedup.Policy) Policy {
	return Policy{p.Lease, p.MaxConsume, p.Keep, p.Horizon, p.MaxAttempts, p.Outage.String(), p.HoldLimit, p.BusyWait}
}

// String is the configuration in effect as YAML: with every default, and without
// its secrets.
func (c Config) String() string {
	topics := slices.Clone(c.Topics)
	for i, t := range topics {
		topics[i].Policy = written(c.PolicyOf(t))
	}
	c.Topics, c.Defaults = topics, written(c.PolicyOf(Topic{}))
	text, err := yaml.Marshal(c)
	if err != nil {
		return "config: " + err.Error()
	}
	return string(text)
}
