package redisstore_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// hasty limits the repeats on a server that is known to refuse.
func hasty(o *redis.Options) { o.MaxRetries, o.DialerRetries = 1, 1 }

func TestRefusalsOfARealServerAreClassified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string // of the server
		orders [][]any  // what an administrator then says
		class  store.Class
		code   string
	}{
		{"replica", nil, [][]any{{"replicaof", "127.0.0.1", "1"}}, store.NotApplied, "READONLY"},
		{"replica that lost its master", []string{"--replica-serve-stale-data", "no"},
			[][]any{{"replicaof", "127.0.0.1", "1"}}, store.NotApplied, "MASTERDOWN"},
		{"too few replicas", []string{"--min-replicas-to-write", "1"}, nil, store.NotApplied, "NOREPLICAS"},
		{"cluster without its slots", []string{"--cluster-enabled", "yes"}, nil, store.NotApplied, "CLUSTERDOWN"},
		{"no memory", []string{"--maxmemory", "1"}, nil, store.NotApplied, "OOM"},
		{"no password given", nil, [][]any{{"config", "set", "requirepass", "secret"}}, store.Permanent, "NOAUTH"},
		{"no right to run scripts", nil, [][]any{{"acl", "setuser", "default", "-evalsha", "-eval", "-set"}},
			store.Permanent, "NOPERM"},
		{"no right to write", nil, [][]any{{"acl", "setuser", "default", "-set"}}, store.Permanent, "ERR"},
		{"no right to the keys", nil, [][]any{{"acl", "setuser", "default", "resetkeys"}}, store.Permanent, "NOPERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Redis(t, c.args...)
			admin := connect(t, server.Addr(), nil)
			for _, command := range c.orders {
				if err := admin.Do(t.Context(), command...).Err(); err != nil {
					t.Fatalf("%v: %v", command, err)
				}
			}
			_, err := open(t, connect(t, server.Addr(), hasty)).Claim(within(t, ample), request(newKey(), store.NewToken()))
			wantFailure(t, err, c.class, c.code)
		})
	}
}

// wantFailure wants an error of this driver, of the class and with the text.
func wantFailure(t *testing.T, err error, class store.Class, text string) {
	t.Helper()
	var e *store.Error
	if !errors.As(err, &e) || e.Driver != "redisstore" || e.Class != class || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want an error that is %v and says %q", err, class, text)
	}
}

func TestABusyServerIsNotApplied(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, "--lua-time-limit", "20")
	s := open(t, connect(t, server.Addr(), nil))
	admin := connect(t, server.Addr(), nil)
	loop := make(chan error, 1)
	go func() { loop <- connect(t, server.Addr(), nil).Eval(t.Context(), "while true do end", nil).Err() }()
	for admin.Ping(t.Context()).Err() == nil {
		time.Sleep(time.Millisecond)
	}
	k := newKey()
	_, err := s.Claim(within(t, ample), request(k, store.NewToken()))
	wantFailure(t, err, store.NotApplied, "BUSY")
	if err := admin.ScriptKill(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	<-loop
	claims(t, s, request(k, store.NewToken()), 1)
}

// Without memory nothing new begins, and everything that runs can end.
func TestAServerWithoutMemoryRefusesClaimsAndTakesCompletes(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	client := connect(t, server.Addr(), nil)
	s, ctx := open(t, client), within(t, ample)
	ran, failed, poison := newKey(), newKey(), newKey()
	a := store.NewToken()
	for _, k := range []store.Key{ran, failed, poison} {
		claims(t, s, request(k, a), 1)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Claim(ctx, request(newKey(), store.NewToken()))
	wantFailure(t, err, store.NotApplied, "OOM")
	answers(t, s, ran, store.Busy)
	if errs := s.Renew(ctx, []store.Claim{{Key: ran, Token: a}, {Key: failed, Token: a}}); errors.Join(errs...) != nil {
		t.Errorf("renew: %v", errs)
	}
	completes(t, s, ran, a, store.Completed)
	if err := errors.Join(s.Release(ctx, failed, a, true), s.Park(ctx, poison, a, time.Hour)); err != nil {
		t.Errorf("release, park: %v", err)
	}
	answers(t, s, ran, store.Done)
	answers(t, s, poison, store.Parked)
}

func TestRecordsSurviveAKillWithAppendonly(t *testing.T) {
	t.Parallel()
	// By default the server also keeps back what it writes while a flush is on its way.
	server := testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "no")
	s := open(t, connect(t, server.Addr(), hasty))
	done, running := newKey(), newKey()
	a := store.NewToken()
	claims(t, s, request(done, a), 1)
	completes(t, s, done, a, store.Completed)
	claims(t, s, request(running, a), 1)

	server.Kill()
	_, err := s.Claim(within(t, ample), request(newKey(), a))
	if err == nil || store.ClassOf(err) == store.Permanent {
		t.Errorf("claim on a server that is gone: got %v, want an error that permits a repeat", err)
	}
	server.Restart()
	answers(t, s, done, store.Done)
	answers(t, s, running, store.Busy)
	claims(t, s, request(running, a), 1)
}

func TestACallEndsWithItsDeadlineWhileTheServerIsFrozen(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	s := open(t, connect(t, server.Addr(), nil))
	k, a := newKey(), store.NewToken()
	claims(t, s, request(newKey(), a), 1)
	server.Pause()
	_, err := s.Claim(within(t, 100*time.Millisecond), request(k, a))
	wantFailure(t, err, store.Unknown, "")
	server.Resume()
	claims(t, s, request(k, a), 1) // whether the first copy arrived or not
}

func TestAWrongPasswordIsPermanentAndNeverShown(t *testing.T) {
	t.Parallel()
	const secret, guess = "correct-horse", "battery-staple"
	server := testserver.Redis(t, "--requirepass", secret)
	mute := testserver.Redis(t, "--requirepass", secret, "--rename-command", "HELLO", "", "--rename-command", "AUTH", "")
	for name, c := range map[string]struct {
		addr, user, password, text string
	}{
		"wrong password": {server.Addr(), "", guess, "WRONGPASS"},
		"unknown user":   {server.Addr(), "nobody", guess, "WRONGPASS"},
		// This server repeats what it does not know, the password included.
		"no such command": {mute.Addr(), "", secret, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, connect(t, c.addr, func(o *redis.Options) { o.Username, o.Password = c.user, c.password }))
			_, err := s.Claim(within(t, ample), request(newKey(), store.NewToken()))
			wantFailure(t, err, store.Permanent, c.text)
			for _, text := range []string{err.Error(), s.Check(within(t, ample)).Error()} {
				if strings.Contains(text, secret) || strings.Contains(text, guess) {
					t.Errorf("the error shows a password: %s", text)
				}
			}
		})
	}
	claims(t, open(t, connect(t, server.Addr(), func(o *redis.Options) { o.Password = secret })),
		request(newKey(), store.NewToken()), 1)
}

func TestTLSFailsClosed(t *testing.T) {
	t.Parallel()
	ca := testserver.NewCA(t)
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	good := testserver.Redis(t, ca.Issue(t, "127.0.0.1", tomorrow).RedisArgs(ca)...)
	for _, c := range []struct {
		name   string
		server *testserver.RedisServer
		tls    *tls.Config
		class  store.Class
		text   string
	}{
		{"wrong name", testserver.Redis(t, ca.Issue(t, "elsewhere.example", tomorrow).RedisArgs(ca)...),
			&tls.Config{RootCAs: ca.Pool()}, store.Permanent, "certificate"},
		{"expired", testserver.Redis(t, ca.Issue(t, "127.0.0.1", yesterday).RedisArgs(ca)...),
			&tls.Config{RootCAs: ca.Pool()}, store.Permanent, "expired"},
		{"unknown authority", good, &tls.Config{RootCAs: testserver.NewCA(t).Pool()}, store.Permanent, "unknown authority"},
		{"plain server, which waits for the end of a line", testserver.Redis(t),
			&tls.Config{RootCAs: ca.Pool()}, store.Unknown, ""},
		{"plain client", good, nil, store.Unknown, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, connect(t, c.server.Addr(), func(o *redis.Options) {
				hasty(o)
				o.TLSConfig, o.DialTimeout = c.tls, time.Second
			}))
			_, err := s.Claim(within(t, 5*time.Second), request(newKey(), store.NewToken()))
			wantFailure(t, err, c.class, c.text)
		})
	}
	s := open(t, connect(t, good.Addr(), func(o *redis.Options) { o.TLSConfig = &tls.Config{RootCAs: ca.Pool()} }))
	claims(t, s, request(newKey(), store.NewToken()), 1)
}
