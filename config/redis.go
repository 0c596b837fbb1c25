package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"regexp"
	"strconv"
	"time"
)

// javaCompatible reports whether consumers of the Java original share the records.
func (s Store) javaCompatible() bool { return s.Type == "redis" && s.Redis.JavaCompatible }

func (s Store) check(r *report) {
	r.oneOf("store.type", s.Type, "redis", "memory")
	if s.Type == "redis" {
		s.Redis.check(r)
	}
}

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

// TLS is how to encrypt a connection.
type TLS struct {
	Enabled    bool   `yaml:"enabled"`
	CAFile     string `yaml:"ca_file"`     // PEM; empty: the system's
	CertFile   string `yaml:"cert_file"`   // PEM; the client's certificate, with KeyFile
	KeyFile    string `yaml:"key_file"`    // PEM
	ServerName string `yaml:"server_name"` // empty: the host of the address
}

func (t TLS) check(path string, r *report) {
	for key, value := range map[string]string{
		"ca_file": t.CAFile, "cert_file": t.CertFile, "key_file": t.KeyFile, "server_name": t.ServerName,
	} {
		if value != "" && !t.Enabled {
			r.wrong(path+"."+key, shown(value), "%s.enabled is not true", path)
		}
	}
	if _, err := t.Config(); err != nil {
		var place *tlsError
		errors.As(err, &place)
		value := ""
		if place.value != "" {
			value = shown(place.value)
		}
		r.wrong(path+"."+place.key, value, "%v", place.err)
	}
}

// Config reads the files. It is nil when TLS is not enabled.
func (t TLS) Config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := read(t.CAFile, maxFile)
		c.RootCAs = x509.NewCertPool()
		if err == nil && !c.RootCAs.AppendCertsFromPEM(pem) {
			err = errors.New("no certificate in it")
		}
		if err != nil {
			return nil, &tlsError{"ca_file", t.CAFile, err}
		}
	}
	if t.CertFile == "" && t.KeyFile == "" {
		return c, nil
	}
	pair, err := t.pair()
	c.Certificates = []tls.Certificate{pair}
	return c, err
}

func (t TLS) pair() (pair tls.Certificate, err error) {
	var pems [2][]byte
	for i, part := range []tlsError{{key: "cert_file", value: t.CertFile}, {key: "key_file", value: t.KeyFile}} {
		if part.value == "" {
			part.err = errors.New("missing; cert_file and key_file need each other")
		} else {
			pems[i], part.err = read(part.value, maxFile)
		}
		if part.err != nil {
			return pair, &part
		}
	}
	if pair, err = tls.X509KeyPair(pems[0], pems[1]); err != nil {
		return pair, &tlsError{"cert_file", t.CertFile, err}
	}
	return pair, nil
}

type tlsError struct {
	key, value string
	err        error
}

func (e *tlsError) Error() string { return "config: tls: " + e.key + ": " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }
