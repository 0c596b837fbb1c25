package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// notSent is the end of a context before anything was sent.
type notSent struct{ error }

// Unwrap returns the context's error.
func (e notSent) Unwrap() error { return e.error }

// replies classifies what a server answers instead of a result, by how the
// answer begins: the first row that fits counts. Every script ends with its
// write, so one that ends in an error has not written.
var replies = []struct {
	prefix string
	class  store.Class
	again  bool
}{
	{"LOADING ", store.NotApplied, true},
	{"MASTERDOWN ", store.NotApplied, true},
	{"CLUSTERDOWN ", store.NotApplied, true},
	{"TRYAGAIN ", store.NotApplied, true},
	{"READONLY ", store.NotApplied, true},
	{"NOREPLICAS ", store.NotApplied, true},
	{"ERR max number of clients reached", store.NotApplied, true},
	{"MOVED ", store.NotApplied, false},
	{"ASK ", store.NotApplied, false},
	{"BUSY ", store.NotApplied, false},
	{"MISCONF ", store.NotApplied, false},
	{"OOM ", store.NotApplied, false},
	{"NOSCRIPT ", store.NotApplied, false},

	{"WRONGTYPE ", store.Permanent, false},
	{"NOAUTH ", store.Permanent, false},
	{"WRONGPASS ", store.Permanent, false},
	{"NOPERM ", store.Permanent, false},
	{"DENIED ", store.Permanent, false},
	{"CROSSSLOT ", store.Permanent, false},
	{"CROWDED ", store.Permanent, false}, // lua/slot.lua
	{"ERR AUTH ", store.Permanent, false},
	{"ERR Client sent AUTH", store.Permanent, false},
	{"ERR invalid password", store.Permanent, false},
	{"ERR unknown command", store.Permanent, false},
	{"ERR DB index is out of range", store.Permanent, false},
	{"ERR SELECT is not allowed in cluster mode", store.Permanent, false},
	{"ERR This instance has cluster support disabled", store.Permanent, false},
	{"ERR Error compiling script", store.Permanent, false},
	{"ERR ACL failure in script", store.Permanent, false},
	{"ERR The user executing the script", store.Permanent, false},
	{"The user executing the script", store.Permanent, false}, // Redis 6.2
}

// failures classifies errors that are no answer of a server. The first row that
// fits counts.
var failures = []struct {
	what  string
	is    func(error) bool
	class store.Class
	again bool
}{
	{"context ended before the call", as[notSent], store.NotApplied, false},
	{"certificate refused", as[*tls.CertificateVerificationError], store.Permanent, false},
	{"unknown authority", as[x509.UnknownAuthorityError], store.Permanent, false},
	{"server speaks no TLS", as[tls.RecordHeaderError], store.Permanent, false},
	{"server refused TLS", operation("remote error"), store.Permanent, false},
	{"dial", operation("dial"), store.NotApplied, true},
	{"pool timeout", is(redis.ErrPoolTimeout), store.NotApplied, true},
	{"pool exhausted", is(redis.ErrPoolExhausted), store.NotApplied, true},
	{"client closed", is(redis.ErrClosed), store.Permanent, false},
	{"deadline", is(context.DeadlineExceeded), store.Unknown, false},
	{"cancelled", is(context.Canceled), store.Unknown, false},
	{"connection ended", is(io.EOF), store.Unknown, true},
	{"connection ended in a reply", is(io.ErrUnexpectedEOF), store.Unknown, true},
	{"read or write failed", as[net.Error], store.Unknown, true},
}

// classify tells what a failed try may have done, and whether trying again at
// once is worth it. What it does not know is Unknown.
func classify(err error) (class store.Class, again bool) {
	if text, ok := reply(err); ok {
		for _, r := range replies {
			if strings.HasPrefix(text, r.prefix) {
				return r.class, r.again
			}
		}
		return store.Unknown, false
	}
	for _, f := range failures {
		if f.is(err) {
			return f.class, f.again
		}
	}
	return store.Unknown, false
}

// errorCode is the first word of a server's error, such as WRONGTYPE, or "".
func errorCode(err error) string {
	text, _ := reply(err)
	code, _, _ := strings.Cut(text, " ")
	return code
}

// reply returns the error that a server answered. Redis 6.2 puts one that a
// script ran into behind the script's name and line, and sometimes a minus.
func reply(err error) (text string, ok bool) {
	if err == nil {
		return "", false
	}
	var e redis.Error
	if !errors.As(err, &e) {
		return "", false
	}
	text = e.Error()
	const line = "@user_script:"
	if i := strings.LastIndex(text, line); i >= 0 && strings.HasPrefix(text, "ERR Error running script ") {
		_, text, _ = strings.Cut(text[i+len(line):], ": ")
		text = strings.TrimPrefix(text, "-")
	}
	return text, true
}

// isReply reports whether a server answered err.
func isReply(err error) bool {
	_, ok := reply(err)
	return ok
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// operation matches the errors that the net package reports of one operation.
func operation(name string) func(error) bool {
	return func(err error) bool {
		var e *net.OpError
		return errors.As(err, &e) && e.Op == name
	}
}
