package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestClassOf(t *testing.T) {
	failed := func(c store.Class, cause error) error {
		return &store.Error{Driver: "redisstore", Op: "claim", Class: c, Err: cause}
	}
	for name, c := range map[string]struct {
		err  error
		want store.Class
	}{
		"an error that says not applied":      {failed(store.NotApplied, io.EOF), store.NotApplied},
		"an error that says unknown":          {failed(store.Unknown, io.EOF), store.Unknown},
		"an error that says permanent":        {failed(store.Permanent, io.EOF), store.Permanent},
		"an error that says nothing":          {failed(0, io.EOF), store.Unknown},
		"a wrapped error":                     {fmt.Errorf("outside: %w", failed(store.Permanent, io.EOF)), store.Permanent},
		"an error's class before its cause's": {failed(store.Unknown, store.ErrNotOwner), store.Unknown},
		"its cause's when it says nothing":    {failed(0, store.ErrInvalid), store.Permanent},
		"an invalid argument":                 {fmt.Errorf("%w: keep", store.ErrInvalid), store.Permanent},
		"another owner":                       {fmt.Errorf("release: %w", store.ErrNotOwner), store.NotApplied},
		"the end of a context":                {context.DeadlineExceeded, store.Unknown},
		"a cancelled context":                 {context.Canceled, store.Unknown},
		"an error from elsewhere":             {io.EOF, store.Unknown},
		"no error":                            {nil, store.Unknown},
	} {
		if got := store.ClassOf(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestErrorNamesDriverOperationCauseAndClass(t *testing.T) {
	err := &store.Error{Driver: "redisstore", Op: "claim", Class: store.Unknown, Err: io.ErrUnexpectedEOF}
	if got, want := err.Error(), "redisstore: claim: unexpected EOF (outcome unknown)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause is not reachable with errors.Is")
	}
}
