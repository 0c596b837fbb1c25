package redisstore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func TestNewJavaCompatibleReportsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	s, err := redisstore.NewJavaCompatible(nil, redisstore.Options{Prefix: "mine:", MinLease: -1})
	if s != nil || err == nil {
		t.Fatalf("got %v, %v, want no Store and an error", s, err)
	}
	for _, want := range []string{"client is nil", "MinLease", `Options.Prefix is "mine:", want none`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to contain %q", err, want)
		}
	}
}

func TestALostReplyOverSharedRecordsIsRecognisedByItsToken(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, private(t).Options().Addr)
	s := openCompat(t, connect(t, p.Addr(), func(o *redis.Options) {
		o.ReadTimeout, o.PoolSize = 300*time.Millisecond, 1
	}))
	ctx, k, a, b := within(t, ample), newKey(), store.NewToken(), store.NewToken()
	claims(t, s, request(newKey(), a), 1)

	p.SwallowReplies(1)
	claims(t, s, request(k, a), 1)
	p.CutReplies(1)
	if err := s.Release(ctx, k, a, false); err != nil {
		t.Errorf("release: %v", err)
	}
	p.CutReplies(1)
	claims(t, s, request(k, b), 1)
	p.SwallowReplies(1)
	if errs := s.Renew(ctx, []store.Claim{{Key: k, Token: b}, {Key: k, Token: a}}); errs[0] != nil ||
		!errors.Is(errs[1], store.ErrNotOwner) {
		t.Errorf("renew: got %v, want renewed and not owner", errs)
	}
	p.CutReplies(1)
	completes(t, s, k, b, store.Completed)
}

func TestAServerWithoutMemoryRefusesSharedClaimsAndTakesCompletes(t *testing.T) {
	t.Parallel()
	client := private(t)
	s, ctx, a := openCompat(t, client), within(t, ample), store.NewToken()
	ran, failed, poison, deleted := newKey(), newKey(), newKey(), newKey()
	for _, k := range []store.Key{ran, failed, poison, deleted} {
		claims(t, s, request(k, a), 1)
	}
	if err := newOriginal(client).failed(ctx, compatName(deleted)); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	k := newKey()
	_, err := s.Claim(ctx, request(k, store.NewToken()))
	wantFailure(t, err, store.NotApplied, "OOM")
	wantPair(t, client, k, record{}, record{})
	renewals := []store.Claim{{Key: ran, Token: a}, {Key: deleted, Token: a}}
	if err := errors.Join(s.Renew(ctx, renewals)...); err != nil {
		t.Errorf("renew: %v", err)
	}
	completes(t, s, ran, a, store.Completed)
	if err := errors.Join(s.Release(ctx, failed, a, true), s.Park(ctx, poison, a, time.Hour)); err != nil {
		t.Errorf("release, park: %v", err)
	}
	answers(t, s, ran, store.Done)
	answers(t, s, poison, store.Parked)
	wantMain(t, client, compatName(failed), "", 0)
	wantMain(t, client, compatName(deleted), "CONSUMING", time.Minute)
}

func TestCheckOfJavaCompatible(t *testing.T) {
	t.Parallel()
	client := private(t, "--appendonly", "yes")
	s := openCompat(t, client)
	if findings, err := s.Inspect(within(t, ample)); err != nil || len(findings) != 0 {
		t.Errorf("inspect: got %v, %v, want nothing", findings, err)
	}
	mains, companions := dump(t, client)
	if len(mains) != 1 || len(companions) != 1 {
		t.Errorf("check left %v, %v, want its scratch record only", mains, companions)
	}
	for name, r := range mains {
		if r.left > time.Second || strings.Count(name, ":") > 2 {
			t.Errorf("%q lives for %v and could be the name of a record", name, r.left)
		}
	}

	o := &older{around: around{func(error) {}}}
	client.AddHook(o)
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	findings, err := openCompat(t, client).Inspect(within(t, ample))
	if err != nil || !hasFinding(findings, "redis_version", true) || o.flagged == 0 {
		t.Errorf("inspect without script flags: got %v, %v, want advice about the version", findings, err)
	}
	client.AddHook(forgetful{around{func(error) {}}})
	if findings, err := openCompat(t, client).Inspect(within(t, ample)); !hasFinding(findings, "scripts", false) {
		t.Errorf("inspect of a server that forgets: got %v, %v, want one about the scripts", findings, err)
	}
}

// compatRights are those of the package comment.
const compatRights = "on >password ~MSGDEDUP:* ~{*}:o ~{*}:o:MSGDEDUP:* ~dedup-pulse:* resetchannels" +
	" -@all +eval +evalsha +get +set +del +pttl +pexpireat +time +info"

func TestTheRightsForSharedRecordsAreEnough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.ReplaceAll(string(text), " \\\n//\t", " ")
	if !strings.Contains(flat, "ACL SETUSER dedup "+compatRights+"\n") {
		t.Errorf("the package comment does not say %q", compatRights)
	}
	admin := private(t)
	if err := admin.Do(t.Context(), setUser(compatRights)...).Err(); err != nil {
		t.Fatal(err)
	}
	client := connect(t, admin.Options().Addr, func(o *redis.Options) { o.Username, o.Password = "dedup", "password" })
	s := openCompat(t, client)
	if err := s.Check(within(t, ample)); err != nil { // runs every script
		t.Errorf("check: %v", err)
	}
	doubts(t, s)
	for _, id := range []string{"1", "{", "{1}", "}", "{}", "}{1}"} {
		k, a := store.Key{Application: "app", Topic: "orders", ID: id}, store.NewToken()
		claims(t, s, request(k, a), 1)
		if err := newOriginal(admin).failed(t.Context(), compatName(k)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Renew(within(t, ample), []store.Claim{{Key: k, Token: a}})...); err != nil {
			t.Errorf("renew: %v", err)
		}
	}
	for name, err := range map[string]error{
		"another key": client.Get(context.Background(), "other").Err(),
		"KEYS":        client.Keys(context.Background(), "*").Err(),
		"FLUSHALL":    client.FlushAll(context.Background()).Err(),
	} {
		if class, _ := redisstore.Classify(err); err == nil || class != store.Permanent {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
}
