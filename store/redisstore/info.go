package redisstore

import (
	"fmt"
	"strconv"
	"strings"
)

// info is the answer of INFO: values by name.
type info map[string]string

func parseInfo(text string) info {
	values := info{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			values[name] = value
		}
	}
	return values
}

// judge returns what is wrong with a server that says i of itself.
func (s *Store) judge(server string, i info) []*Finding {
	findings := []*Finding{s.judgeEviction(i), s.judgeMode(i), judgeVersion(i), judgePersistence(i)}
	var found []*Finding
	for _, f := range findings {
		if f != nil {
			f.Server = server
			found = append(found, f)
		}
	}
	return found
}

func (s *Store) judgeEviction(i info) *Finding {
	policy := i["maxmemory_policy"]
	f := &Finding{
		Field:   "maxmemory-policy",
		Problem: fmt.Sprintf("%q removes records when memory is full, and their keys run again", policy),
		Remedy:  "set maxmemory-policy noeviction, or accept it with Options.AllowEviction",
	}
	switch {
	case policy == "noeviction" || s.options.AllowEviction:
		return nil
	case policy == "":
		f.Problem = "the server does not tell whether it removes records when memory is full"
	case i["maxmemory"] == "0":
		f.Problem += "; maxmemory is 0 now, so memory is not limited"
		f.Advice = true
	}
	return f
}

func (s *Store) judgeMode(i info) *Finding {
	if i["redis_mode"] != "cluster" || s.limits.cluster {
		return nil
	}
	return &Finding{
		Field:   "client",
		Problem: "the server is a node of a cluster, the client is not a cluster client",
		Remedy:  "use redis.NewClusterClient, or redis.UniversalOptions with IsClusterMode",
	}
}

func judgeVersion(i info) *Finding {
	version := i["redis_version"]
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA == nil && errB == nil && (a > 6 || a == 6 && b >= 2) {
		return nil
	}
	return &Finding{
		Field:   "redis_version",
		Problem: fmt.Sprintf("%q is not known to be 6.2 or later, the oldest that this is tested with", version),
		Remedy:  "use Redis 7.0 or later",
		Advice:  true,
	}
}

func judgePersistence(i info) *Finding {
	if i["aof_enabled"] == "1" {
		return nil
	}
	return &Finding{
		Field:   "appendonly",
		Problem: "the server does not log its writes, so a crash loses the latest records, and their keys run again",
		Remedy:  "set appendonly yes, or accept such runs",
		Advice:  true,
	}
}
