package open

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// cause says which setting to look at for an error, and why.
type cause struct {
	is      func(error) bool
	setting string
	why     string
}

// redisCauses: the first that fits counts.
var redisCauses = slices.Concat([]cause{
	{both(sentinels, says("NOAUTH ", "WRONGPASS ", "ERR AUTH ", "ERR invalid password")),
		"store.redis.sentinel.password", "the sentinels refused the user or the password"},
	{both(sentinels, is(redis.Nil)), "store.redis.sentinel.master_name", "the sentinels know no such master"},
	{finding("maxmemory-policy"), "store.redis.allow_eviction", "the server may drop records"},
	{finding("client"), "store.redis.cluster", "the server belongs to a cluster"},
	{says("cluster support disabled"), "store.redis.cluster", "the server belongs to no cluster"},
	{says("NOAUTH "), "store.redis.password", "the server wants a password"},
	{says("WRONGPASS ", "ERR AUTH ", "ERR Client sent AUTH", "ERR invalid password"),
		"store.redis.password", "the server refused the user or the password"},
	{says("NOPERM ", "ERR ACL failure", "The user executing the script"),
		"store.redis.username", "the user lacks a right; the comment of package redisstore has the list"},
	{says("DB index is out of range", "SELECT is not allowed"), "store.redis.db", "the server has no such database"},
}, tlsCauses("store.redis.tls."), []cause{
	{either(is(io.EOF), is(syscall.ECONNRESET)), "store.redis.tls.enabled", "the server hung up; it may expect TLS"},
	{sentinels, "store.redis.addrs", "no sentinel answers"},
	{either(is(context.DeadlineExceeded), anyNet), "store.redis.addrs", "no server answers there"},
})

// tlsCauses are those of the section whose path is given, with a dot at its end.
func tlsCauses(path string) []cause {
	return []cause{
		{as[x509.HostnameError], path + "server_name", "the certificate is for another name"},
		{as[x509.UnknownAuthorityError], path + "ca_file", "the server's certificate has another authority"},
		{as[*tls.CertificateVerificationError], path + "ca_file", "the server's certificate was refused"},
		{as[tls.RecordHeaderError], path + "enabled", "the server does not speak TLS here"},
		{operation("remote error"), path + "cert_file", "the server refused the client's certificate"},
	}
}

// silentHandshake: a server that does not speak TLS waits for the end of what it
// takes for a long command.
var silentHandshake = []cause{{
	is(context.DeadlineExceeded), "store.redis.tls.enabled", "no answer in time; the server may not speak TLS here",
}}

// rocketCauses: the first that fits counts.
var rocketCauses = []cause{
	{as[tls.RecordHeaderError], "rocketmq.tls", "the server does not speak TLS here"},
	{says("code 16: ", "AclException"), "rocketmq.access_key", "the account was refused"},
	{both(says("brokers of "), says("code 17: ")), "topics", "a topic does not exist"},
	{says("name server "), "rocketmq.name_servers", "no name server answers there"},
	{says("broker "), "rocketmq.broker_addrs", "a broker refused"},
}

// explained puts the setting in front of each error that err joins, and keeps
// one error per setting: what goes wrong twice is said once. Findings about a
// table are kept all: each has a statement that mends a part of it.
func explained(err error, causes []cause) error {
	var errs []error
	var seen []string
	for _, e := range parts(err) {
		i := slices.IndexFunc(causes, func(c cause) bool { return c.is(e) })
		if i < 0 {
			errs = append(errs, fmt.Errorf("open: %w", e))
			continue
		}
		if c := causes[i]; mysqlFinding("table ")(e) || !slices.Contains(seen, c.setting) {
			seen = append(seen, c.setting)
			errs = append(errs, fmt.Errorf("%s: %s: %w", c.setting, c.why, e))
		}
	}
	return errors.Join(errs...)
}

// parts returns the errors that err is a plain list of.
func parts(err error) (list []error) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		list = append(list, parts(e)...)
	}
	return list
}

func both(a, b func(error) bool) func(error) bool {
	return func(err error) bool { return a(err) && b(err) }
}

func anyNet(err error) bool { return as[net.Error](err) }

func either(all ...func(error) bool) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(all, func(is func(error) bool) bool { return is(err) })
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// says matches the text, which is all that servers' errors have.
func says(texts ...string) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
}

func finding(field string) func(error) bool {
	return func(err error) bool {
		var f *redisstore.Finding
		return errors.As(err, &f) && f.Field == field
	}
}

func operation(name string) func(error) bool {
	return func(err error) bool {
		var e *net.OpError
		return errors.As(err, &e) && e.Op == name
	}
}

var sentinels = says("all sentinels specified in configuration are unreachable")
