package config

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Validate reports everything that is wrong at once, as [Problems]. It connects
// to nothing; of files it reads those of TLS. A configuration from [Load] is
// valid.
func (c Config) Validate() error {
	r := newReport(func(string) string { return "config" })
	c.check(r)
	return r.err()
}

// Warnings tells what works and is probably not wanted.
func (c Config) Warnings() []Problem {
	r := newReport(func(string) string { return "config" })
	c.check(r)
	found := slices.Clone(c.found)
	for _, w := range r.warnings {
		same := func(f Problem) bool { return f.Field == w.Field && f.Text == w.Text }
		if !slices.ContainsFunc(found, same) {
			found = append(found, w)
		}
	}
	return found
}

func (c Config) check(r *report) {
	c.RocketMQ.check(r)
	if c.Application == "" && r.sound("rocketmq.group") {
		r.wrong("application", "", "missing; a loaded file takes the group for it")
	}
	c.Store.check(r)
	c.checkTopics(r)
	r.positive("drain_timeout", c.DrainTimeout, time.Millisecond)
	r.between("journal_limit", c.JournalLimit, 1, dedup.MaxJournalLimit)
	r.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	r.oneOf("log.format", c.Log.Format, "text", "json")
	c.diagnose(r)
}

func (m RocketMQ) check(r *report) {
	r.addresses("rocketmq.name_servers", m.NameServers)
	if len(m.NameServers) == 0 {
		r.wrong("rocketmq.name_servers", "", "missing; want host:port of every name server")
	}
	r.addresses("rocketmq.broker_addrs", m.BrokerAddrs)
	m.checkNames(r)
	r.oneOf("rocketmq.consume_from", m.ConsumeFrom, "first", "last")
	if m.MessageModel == "broadcasting" {
		r.wrong("rocketmq.message_model", shown(m.MessageModel),
			"not supported: a broadcasting consumer drops what it cannot finish; want clustering")
	}
	r.oneOf("rocketmq.message_model", m.MessageModel, "clustering")
	r.between("rocketmq.consume_message_batch_max_size", m.ConsumeMessageBatchMaxSize, 1, 1024)
	r.between("rocketmq.pull_batch_size", m.PullBatchSize, 1, 1024)
	r.between("rocketmq.consume_goroutines", m.ConsumeGoroutines, 1, 100_000)
	r.between("rocketmq.parallel", m.Parallel, 1, 1024)
	r.between("rocketmq.max_reconsume_times", m.MaxReconsumeTimes, 1, 1<<31-1) // the client has 32 bits
	r.positive("rocketmq.consume_timeout", m.ConsumeTimeout, time.Second)
	m.checkDelays(r)
}

// maxLevels is far above the broker's 18.
const maxLevels = 100

func (m RocketMQ) checkDelays(r *report) {
	const field = "rocketmq.delay_levels"
	if n := len(m.DelayLevels); n < 1 || n > maxLevels {
		r.wrong(field, strconv.Itoa(n), "want 1 to %d levels, those of the broker's messageDelayLevel", maxLevels)
	}
	for i, d := range m.DelayLevels {
		at := fmt.Sprintf("%s[%d]", field, i)
		r.positive(at, d, time.Millisecond)
		if i > 0 && r.sound(at) && d <= m.DelayLevels[i-1] {
			r.wrong(at, short(d), "want more than the level before it, %s", short(m.DelayLevels[i-1]))
		}
	}
	for i := range m.DelayLevels {
		if !r.sound(fmt.Sprintf("%s[%d]", field, i)) {
			r.bad[field] = true
		}
	}
}

var (
	groupName = regexp.MustCompile(`^[%|a-zA-Z0-9_-]{1,255}$`)
	topicName = regexp.MustCompile(`^[%|a-zA-Z0-9_-]{1,127}$`)
	namespace = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,100}$`)
)

func (m RocketMQ) checkNames(r *report) {
	switch {
	case m.Group == "":
		r.wrong("rocketmq.group", "", "missing; want the consumer group")
	case m.Group == "DEFAULT_CONSUMER":
		r.wrong("rocketmq.group", shown(m.Group), "the client refuses this name; want one of your own")
	case !groupName.MatchString(m.Group):
		r.wrong("rocketmq.group", shown(m.Group), "want 1 to 255 letters, digits and %% | _ -")
	}
	if m.Namespace != "" && !namespace.MatchString(m.Namespace) {
		r.wrong("rocketmq.namespace", shown(m.Namespace), "want 1 to 100 letters, digits, _ and -")
	}
	switch {
	case m.AccessKey != "" && m.SecretKey == "" && r.sound("rocketmq.secret_key_file"):
		r.wrong("rocketmq.secret_key", "", "missing; rocketmq.access_key needs it")
	case m.AccessKey == "" && m.SecretKey != "":
		r.wrong("rocketmq.access_key", "", "missing; rocketmq.secret_key needs it")
	}
}

func (c Config) checkTopics(r *report) {
	c.Defaults.check("defaults", r)
	if len(c.Topics) == 0 {
		r.wrong("topics", "", "missing; want at least one section with a name")
	}
	seen := map[string]bool{}
	for i, t := range c.Topics {
		path := fmt.Sprintf("topics[%d]", i)
		if !r.sound(path) {
			continue
		}
		t.check(path, r)
		if t.Name != "" && seen[t.Name] {
			r.wrong(path+".name", shown(t.Name), "this topic is there twice")
		}
		seen[t.Name] = true
		c.checkPolicy(path, t, r)
	}
}

func (t Topic) check(path string, r *report) {
	switch {
	case t.Name == "":
		r.wrong(path+".name", "", "missing; want the topic")
	case !topicName.MatchString(t.Name):
		r.wrong(path+".name", shown(t.Name), "want 1 to 127 letters, digits and %% | _ -")
	case strings.HasPrefix(t.Name, "%RETRY%"):
		r.wrong(path+".name", shown(t.Name), "the client subscribes to the retry topic by itself")
	}
	for _, tag := range strings.Split(t.Tags, "||") {
		if tag = strings.TrimSpace(tag); t.Tags != "" && (tag == "" || strings.ContainsAny(tag, " \t|")) {
			r.wrong(path+".tags", shown(t.Tags), `want tags such as "paid" or "paid || refunded", or "*" for all`)
		}
	}
	if t.Key != "" {
		if _, err := listener.ParseKey(t.Key); err != nil {
			r.wrong(path+".key", shown(t.Key), "%s", keyProblem(err))
		}
	}
	t.Policy.check(path, r)
}

// keyProblem is err without what the line says already.
func keyProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "listener: ")
	if _, after, ok := strings.Cut(text, `": `); ok {
		return after
	}
	return text
}

// check looks at the values that are set, each for itself.
func (p Policy) check(path string, r *report) {
	for _, d := range []struct {
		key   string
		value time.Duration
		least time.Duration
	}{
		{"lease", p.Lease, dedup.MinLease}, {"max_consume", p.MaxConsume, dedup.MinLease},
		{"keep", p.Keep, store.MinDuration}, {"horizon", p.Horizon, store.MinDuration},
		{"hold_limit", p.HoldLimit, store.MinDuration}, {"busy_wait", p.BusyWait, store.MinDuration},
	} {
		if d.value != 0 {
			r.positive(join(path, d.key), d.value, d.least)
		}
	}
	if p.MaxAttempts < NoLimit {
		r.wrong(join(path, "max_attempts"), strconv.Itoa(p.MaxAttempts), "want 0 (no limit) or more")
	}
	if p.Outage != "" {
		r.oneOf(join(path, "outage"), p.Outage, outages[0].String(), outages[1].String(), outages[2].String())
	}
}

func (r *report) positive(field string, d, least time.Duration) {
	if d < least || d > store.MaxDuration {
		r.wrong(field, short(d), "want %s to %s", short(least), short(store.MaxDuration))
	}
}

func (r *report) between(field string, n, low, high int) {
	if n < low || n > high {
		r.wrong(field, strconv.Itoa(n), "want %d to %d", low, high)
	}
}

func (r *report) oneOf(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		last := len(allowed) - 1
		want := strings.Join(allowed[:last], ", ")
		if want != "" {
			want += " or "
		}
		r.wrong(field, shown(value), "want %s%s", want, allowed[last])
	}
}

func (r *report) addresses(field string, list []string) {
	for i, address := range list {
		if !isAddress(address) {
			at := fmt.Sprintf("%s[%d]", field, i)
			r.wrong(at, shown(address), "want host:port, one per entry")
			r.bad[field] = true
		}
	}
}

func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, notNumber := strconv.Atoi(port)
	return cmp.Or(err, notNumber) == nil && host != "" && n >= 1 && n <= 65535 && !strings.ContainsAny(host, " /@;,")
}
