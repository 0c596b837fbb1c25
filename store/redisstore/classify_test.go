package redisstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// answer is an error that a server sent.
type answer string

func (a answer) Error() string { return string(a) }

// RedisError marks it as such for go-redis.
func (answer) RedisError() {}

// The messages are those of Redis 7.0, where not said otherwise.
var replyRows = []struct {
	text  string
	class store.Class
	again bool
}{
	{"LOADING Redis is loading the dataset in memory", store.NotApplied, true},
	{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", store.NotApplied, true},
	{"CLUSTERDOWN Hash slot not served", store.NotApplied, true},
	{"TRYAGAIN Multiple keys request during rehashing of slot", store.NotApplied, true},
	{"READONLY You can't write against a read only replica. script: 1f8f, on @user_script:60.", store.NotApplied, true},
	{"NOREPLICAS Not enough good replicas to write. script: 1f8f, on @user_script:60.", store.NotApplied, true},
	{"ERR max number of clients reached", store.NotApplied, true},
	{"MOVED 3999 127.0.0.1:6381", store.NotApplied, false},
	{"ASK 3999 127.0.0.1:6381", store.NotApplied, false},
	{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", store.NotApplied, false},
	{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		store.NotApplied, false},
	{"OOM command not allowed when used memory > 'maxmemory'. script: 1f8f, on @user_script:60.", store.NotApplied, false},
	{"NOSCRIPT No matching script. Please use EVAL.", store.NotApplied, false},
	{"WRONGTYPE Operation against a key holding the wrong kind of value script: 620c, on @user_script:8.",
		store.Permanent, false},
	{"NOAUTH Authentication required.", store.Permanent, false},
	{"WRONGPASS invalid username-password pair or user is disabled.", store.Permanent, false},
	{"NOPERM this user has no permissions to run the 'evalsha' command", store.Permanent, false},
	{"DENIED Redis is running in protected mode because protected mode is enabled", store.Permanent, false},
	{"CROSSSLOT Keys in request don't hash to the same slot", store.Permanent, false},
	{"CROWDED slot 3300 has more than 100000 names", store.Permanent, false},
	{"ERR AUTH <password> called without any password configured for the default user.", store.Permanent, false},
	{"ERR Client sent AUTH, but no password is set", store.Permanent, false}, // 5.0
	{"ERR invalid password", store.Permanent, false},                         // 5.0
	{"ERR unknown command 'evalsha', with args beginning with: 'a' '1'", store.Permanent, false},
	{"ERR DB index is out of range", store.Permanent, false},
	{"ERR SELECT is not allowed in cluster mode", store.Permanent, false},
	{"ERR This instance has cluster support disabled", store.Permanent, false},
	{"ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'", store.Permanent, false},
	{"ERR ACL failure in script: No permissions to access a key script: a2e6, on @user_script:8.",
		store.Permanent, false}, // 8.2
	{"ERR The user executing the script can't run this command or subcommand script: 1f8f, on @user_script:8.",
		store.Permanent, false},

	{"ERR Error running script (call to f_1f8f4c): @user_script:60: @user_script: 60: -OOM command not allowed" +
		" when used memory > 'maxmemory'.",
		store.NotApplied, false}, // 6.2
	{"ERR Error running script (call to f_1f8f4c): @user_script:60: @user_script: 60: -READONLY You can't write" +
		" against a read only replica.",
		store.NotApplied, true}, // 6.2
	{"ERR Error running script (call to f_620cd2): @user_script:8: WRONGTYPE Operation against a key holding" +
		" the wrong kind of value",
		store.Permanent, false}, // 6.2
	{"ERR Error running script (call to f_a2e69d): @user_script:8: @user_script: 8: The user executing the script" +
		" can't access at least one of the keys mentioned in the command arguments", store.Permanent, false}, // 6.2

	{"ERR something that nobody has seen yet", store.Unknown, false},
	{"ERR Error running script ", store.Unknown, false},
	{"", store.Unknown, false},
}

func TestAnswersOfServersAreClassified(t *testing.T) {
	t.Parallel()
	untested := redisstore.ClassifiedReplies()
	for _, r := range replyRows {
		check(t, answer(r.text), r.class, r.again)
		check(t, fmt.Errorf("hook: %w", answer(r.text)), r.class, r.again)
		text := r.text[strings.LastIndex(r.text, ": ")+1:] // the cause in a message of 6.2
		text = strings.TrimLeft(text, " -")
		untested = slices.DeleteFunc(untested, func(prefix string) bool {
			return strings.HasPrefix(r.text, prefix) || strings.HasPrefix(text, prefix)
		})
	}
	if len(untested) > 0 {
		t.Errorf("rows without a test: %q", untested)
	}
}

var failureRows = []struct {
	what  string
	err   error
	class store.Class
	again bool
}{
	{"certificate refused", &tls.CertificateVerificationError{Err: errors.New("x509: certificate has expired")},
		store.Permanent, false},
	{"unknown authority", x509.UnknownAuthorityError{}, store.Permanent, false},
	{"server speaks no TLS", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		store.Permanent, false},
	{"server refused TLS", &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
		store.Permanent, false},
	{"dial", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, store.NotApplied, true},
	{"dial", &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, store.NotApplied, true},
	{"dial", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, store.NotApplied, true},
	{"pool timeout", redis.ErrPoolTimeout, store.NotApplied, true},
	{"pool exhausted", redis.ErrPoolExhausted, store.NotApplied, true},
	{"client closed", redis.ErrClosed, store.Permanent, false},
	{"deadline", context.DeadlineExceeded, store.Unknown, false},
	{"cancelled", context.Canceled, store.Unknown, false},
	{"connection ended", io.EOF, store.Unknown, true},
	{"connection ended in a reply", io.ErrUnexpectedEOF, store.Unknown, true},
	{"read or write failed", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, store.Unknown, true},
	{"read or write failed", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, store.Unknown, true},
	{"read or write failed", &net.OpError{Op: "write", Err: syscall.EPIPE}, store.Unknown, true},
	{"anything else", errors.New("a hook said no"), store.Unknown, false},
}

func TestOtherFailuresAreClassified(t *testing.T) {
	t.Parallel()
	untested := redisstore.ClassifiedFailures()
	for _, r := range failureRows {
		check(t, r.err, r.class, r.again)
		check(t, fmt.Errorf("hook: %w", r.err), r.class, r.again)
		untested = slices.DeleteFunc(untested, func(what string) bool { return what == r.what })
	}
	// A context that ends before the call is tested with a call.
	if len(untested) != 1 || untested[0] != "context ended before the call" {
		t.Errorf("rows without a test: %q", untested)
	}
}

func check(t *testing.T, err error, class store.Class, again bool) {
	t.Helper()
	if gotClass, gotAgain := redisstore.Classify(err); gotClass != class || gotAgain != again {
		t.Errorf("%q: got %v, again %v, want %v, %v", err, gotClass, gotAgain, class, again)
	}
}
