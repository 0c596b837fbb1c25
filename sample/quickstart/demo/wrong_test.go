//go:build !race

// The client's Shutdown races with its own rebalance.

package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/quickstart/demo"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestMain(m *testing.M) {
	listener.LogTo(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// forgetful grants every claim.
type forgetful struct{ demo.Records }

func (forgetful) Claim(context.Context, store.ClaimRequest) (store.Verdict, error) {
	return store.Verdict{State: store.Claimed, Attempt: 1}, nil
}

// boastful says of everything that it is done.
type boastful struct{ demo.Records }

func (boastful) Claim(context.Context, store.ClaimRequest) (store.Verdict, error) {
	return store.Verdict{State: store.Done}, nil
}

func TestAWrongStoreIsFoundOut(t *testing.T) {
	t.Parallel()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, want string
		records    demo.Records
	}{
		{"one that forgets charges orders twice", "lost=0", forgetful{records}},
		{"one that has done everything loses orders", "extra=0 lost=40", boastful{records}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := demo.Settings{Messages: 40, Resend: 50, Consumers: 2}
			err := demo.Run(t.Context(), s, row.records, &out, io.Discard)
			if !errors.Is(err, demo.ErrWrong) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want ErrWrong with %s", err, row.want)
			}
			if !strings.Contains(out.String(), "with dedup") {
				t.Errorf("got %q, want the table all the same", out.String())
			}
		})
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	withDedup := false
	progress := writerFunc(func(line []byte) {
		withDedup = withDedup || bytes.HasPrefix(line, []byte("with dedup"))
		if withDedup && bytes.Contains(line, []byte("joins")) {
			cancel()
		}
	})
	s := demo.Settings{Messages: 1000, Resend: 50, Consumers: 2}
	err = demo.Run(ctx, s, records, io.Discard, progress)
	if !errors.Is(err, context.Canceled) || errors.Is(err, listener.ErrDraining) {
		t.Errorf("got %v, want context.Canceled and consumers that were stopped in order", err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}
