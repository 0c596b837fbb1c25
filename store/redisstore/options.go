package redisstore

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options are the settings of a [Store]. The zero Options are good.
type Options struct {
	// Prefix begins the name of every record. Stores with different prefixes
	// never meet. Letters, digits and _ . : / - only. Default "dedup:".
	Prefix string

	// MinLease is the shortest lease that the application claims with. New
	// refuses a client that may wait for one answer longer than a third of it,
	// because that is how often leases are renewed. A claim with a shorter lease
	// is not refused. Default 30 s.
	MinLease time.Duration

	// AllowEviction has Check accept a server that removes records when its
	// memory is full. Keys whose records were evicted run again.
	AllowEviction bool

	// NoPipelining sends every call by itself, on a connection of its own and
	// under its caller's context. Otherwise the calls of concurrent callers travel
	// together, which costs less but shows a hook of the client pipelines instead
	// of single commands, without the values of their callers' contexts.
	// Renewals and batches always travel together.
	NoPipelining bool
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "dedup:"
	}
	if o.MinLease == 0 {
		o.MinLease = 30 * time.Second
	}
	return o
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

func (o Options) validate() error {
	var errs []error
	if !prefixPattern.MatchString(o.Prefix) {
		errs = append(errs, fmt.Errorf(
			"Options.Prefix is %q, want 1 to 64 of letters, digits and _ . : / -", o.Prefix))
	}
	if o.MinLease < time.Millisecond {
		errs = append(errs, fmt.Errorf("Options.MinLease is %v, want 1 ms or more, or 0 for 30 s", o.MinLease))
	}
	return errors.Join(errs...)
}

// limits is what a client's own options say about one call.
type limits struct {
	server             string // host:port, or "" for a cluster
	cluster            bool
	contextTimeout     bool
	read, write        time.Duration
	retries            int
	retriesOption      string // what the client calls retries
	minPause, maxPause time.Duration
	readsFromReplicas  bool
}

// limitsOf reads the options of a client, which are as go-redis has filled them
// in: 0 means off and negative means that no deadline is ever set.
func limitsOf(client redis.UniversalClient) (limits, error) {
	if v := reflect.ValueOf(client); client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return limits{}, errors.New("client is nil")
	}
	switch c := client.(type) {
	case interface{ Options() *redis.Options }:
		o := c.Options()
		return limits{
			server:         o.Addr,
			contextTimeout: o.ContextTimeoutEnabled, read: o.ReadTimeout, write: o.WriteTimeout,
			retries: o.MaxRetries, retriesOption: "MaxRetries",
			minPause: o.MinRetryBackoff, maxPause: o.MaxRetryBackoff,
		}, nil
	case interface{ Options() *redis.ClusterOptions }:
		o := c.Options()
		return limits{
			cluster:        true,
			contextTimeout: o.ContextTimeoutEnabled, read: o.ReadTimeout, write: o.WriteTimeout,
			retries: o.MaxRedirects, retriesOption: "MaxRedirects",
			minPause: o.MinRetryBackoff, maxPause: o.MaxRetryBackoff,
			readsFromReplicas: o.ReadOnly || o.RouteByLatency || o.RouteRandomly,
		}, nil
	case interface{ Options() *redis.RingOptions }:
		return limits{}, errors.New("client is a redis.Ring, which moves keys between servers that know nothing" +
			" of each other when one fails; use a Client, a FailoverClient or a ClusterClient")
	}
	return limits{}, fmt.Errorf("client is a %T, whose options cannot be read; give it the method"+
		" Options() of *redis.Client or *redis.ClusterClient", client)
}

// validate reports every client option that would break a promise.
func (l limits) validate(minLease time.Duration) error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !l.contextTimeout {
		refuse("client option ContextTimeoutEnabled is false, so calls would outlast their deadline; set it to true")
	}
	if l.write < 0 {
		refuse("client option WriteTimeout is -2, so calls would outlast their deadline; set it to 1s")
	}
	tries := time.Duration(l.retries) + 1
	switch {
	case l.read <= 0:
		refuse("client option ReadTimeout is off, so a silent server would be waited for; set it to 1s")
	case l.read*tries >= minLease/3:
		refuse("client option ReadTimeout × (%s + 1) is %v × %d, want less than MinLease %v / 3; set ReadTimeout to 1s",
			l.retriesOption, l.read, tries, minLease)
	}
	if l.readsFromReplicas {
		refuse("client option ReadOnly, RouteByLatency or RouteRandomly is on, so commands may go to replicas," +
			" which lag behind; set them to false")
	}
	return errors.Join(errs...)
}
