package config

import (
	"regexp"
	"strconv"
	"time"
)

// recordPrefix is what package redisstore accepts.
var recordPrefix = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

func (c Redis) check(r *report) {
	const path = "store.redis"
	r.addresses(path+".addrs", c.Addrs)
	switch {
	case c.JavaCompatible && c.Prefix != "":
		r.wrong(path+".prefix", shown(c.Prefix), "store.redis.java_compatible has the names of the original, "+
			"which begin with MSGDEDUP: leave the prefix out")
	case !c.JavaCompatible && !recordPrefix.MatchString(c.Prefix):
		r.wrong(path+".prefix", shown(c.Prefix), "want 1 to 64 letters, digits and _ . : / -")
	}
	r.between(path+".db", c.DB, 0, 1<<31-1)
	c.checkTopology(r)
	r.between(path+".pool_size", c.PoolSize, 0, 100_000)
	r.positive(path+".dial_timeout", c.DialTimeout, time.Millisecond)
	r.positive(path+".read_timeout", c.ReadTimeout, time.Millisecond)
	r.positive(path+".write_timeout", c.WriteTimeout, time.Millisecond)
	c.TLS.check(path+".tls", r)
}

// checkTopology: an unclear one would be a matter of the client's guess, which
// takes several addresses for a cluster.
func (c Redis) checkTopology(r *report) {
	const path = "store.redis"
	sentinels := c.Sentinel.MasterName != ""
	switch {
	case len(c.Addrs) == 0:
		r.wrong(path+".addrs", "", "missing; want host:port of the server, the cluster's nodes or the sentinels")
	case c.Cluster && sentinels:
		r.wrong(path+".cluster", "true", "store.redis.sentinel.master_name is set too; want one of the two")
	case len(c.Addrs) > 1 && !c.Cluster && !sentinels:
		r.wrong(path+".addrs", strconv.Itoa(len(c.Addrs)),
			"several addresses need store.redis.cluster: true or store.redis.sentinel.master_name")
	case c.Cluster && c.DB != 0:
		r.wrong(path+".db", strconv.Itoa(c.DB), "a cluster has database 0 only")
	case !sentinels && (c.Sentinel.Username != "" || c.Sentinel.Password != ""):
		r.wrong(path+".sentinel.master_name", "", "missing; the sentinels' user and password need it")
	}
}
