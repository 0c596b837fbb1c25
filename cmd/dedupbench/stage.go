package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// stage is what a contender is told, by its environment. The first group is for
// every contender, the second for our own.
type stage struct {
	NameServer string        // DEDUPBENCH_NAMESRV, host:port
	Topic      string        // DEDUPBENCH_TOPIC
	Group      string        // DEDUPBENCH_GROUP: consume as this group, from the first offset
	Messages   int           // DEDUPBENCH_MESSAGES: exit with 0 when so many were acknowledged
	Distinct   int           // DEDUPBENCH_KEYS: so many keys (in KEYS) they have
	Redis      string        // DEDUPBENCH_REDIS, host:port
	Prefix     string        // DEDUPBENCH_PREFIX: keys in Redis that begin so are removed afterwards
	MySQL      string        // DEDUPBENCH_MYSQL, host:port or a DSN as -mysql takes it
	Table      string        // DEDUPBENCH_TABLE: the table of this name is dropped from MySQL afterwards
	Batch      int           // DEDUPBENCH_BATCH: the most messages of a callback
	Callbacks  int           // DEDUPBENCH_CALLBACKS: so many run at once
	Work       time.Duration // DEDUPBENCH_WORK, as 1ms: how long a callback sleeps per message
	Rate       int           // DEDUPBENCH_RATE: messages/s to begin at most; 0: as fast as they come

	Contender string // DEDUPBENCH_CONTENDER
	Store     string // DEDUPBENCH_STORE
	Profile   string // DEDUPBENCH_PROFILE: file for a CPU profile
}

const envPrefix = "DEDUPBENCH_"

func (s *stage) texts() map[string]*string {
	return map[string]*string{
		"NAMESRV": &s.NameServer, "TOPIC": &s.Topic, "GROUP": &s.Group, "REDIS": &s.Redis, "PREFIX": &s.Prefix,
		"MYSQL": &s.MySQL, "TABLE": &s.Table,
		"CONTENDER": &s.Contender, "STORE": &s.Store, "PROFILE": &s.Profile,
	}
}

func (s *stage) counts() map[string]*int {
	return map[string]*int{
		"MESSAGES": &s.Messages, "KEYS": &s.Distinct, "BATCH": &s.Batch, "CALLBACKS": &s.Callbacks, "RATE": &s.Rate,
	}
}

// env is the stage as environment variables.
func (s stage) env() []string {
	all := []string{envPrefix + "WORK=" + s.Work.String()}
	for name, text := range s.texts() {
		all = append(all, envPrefix+name+"="+*text)
	}
	for name, n := range s.counts() {
		all = append(all, envPrefix+name+"="+strconv.Itoa(*n))
	}
	return all
}

// stageOf reads an environment back.
func stageOf(getenv func(string) string) (s stage, err error) {
	for name, text := range s.texts() {
		*text = getenv(envPrefix + name)
	}
	var errs []error
	for name, n := range s.counts() {
		if *n, err = strconv.Atoi(getenv(envPrefix + name)); err != nil {
			errs = append(errs, fmt.Errorf("%s%s: %w", envPrefix, name, err))
		}
	}
	if s.Work, err = time.ParseDuration(getenv(envPrefix + "WORK")); err != nil {
		errs = append(errs, fmt.Errorf("%sWORK: %w", envPrefix, err))
	}
	return s, errors.Join(errs...)
}
