package storetest_test

import (
	"context"
	"errors"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var wrongFailures = []wrong{{
	mistake: "takes no notice of a context that has ended",
	change: func(s *reference) {
		s.check = func(ctx context.Context, invalid error) error {
			if _, ok := ctx.(silent); ok {
				return check(ctx, invalid)
			}
			return invalid
		}
	},
	caught: []string{
		"a call whose context has ended is an error and no verdict",
	},
}, {
	mistake: "reports a context that has ended as permanent",
	change: func(s *reference) {
		s.check = func(ctx context.Context, invalid error) error {
			err := check(ctx, invalid)
			if err == nil || errors.Is(err, store.ErrInvalid) {
				return err
			}
			return &store.Error{Driver: "reference", Op: "call", Class: store.Permanent, Err: err}
		}
	},
	caught: []string{
		"a call whose context has ended is an error and no verdict",
		"a call returns within its deadline when the server is silent",
	},
}, {
	mistake: "waits longer than its deadline",
	change: func(s *reference) {
		s.check = func(ctx context.Context, invalid error) error {
			if _, ok := ctx.(silent); ok {
				time.Sleep(time.Minute)
			}
			return check(ctx, invalid)
		}
	},
	caught: []string{
		"a call returns within its deadline when the server is silent",
	},
}, {
	mistake: "takes silence for success",
	change: func(s *reference) {
		s.check = func(ctx context.Context, invalid error) error {
			if _, ok := ctx.(silent); ok {
				<-ctx.Done()
				return nil
			}
			return check(ctx, invalid)
		}
	},
	caught: []string{
		"a call returns within its deadline when the server is silent",
	},
}, {
	mistake: "accepts whatever it is given",
	change: func(s *reference) {
		s.check = func(ctx context.Context, _ error) error { return check(ctx, nil) }
	},
	caught: []string{
		"an invalid claim is refused and leaves no record",
		"an invalid complete, release, park, renewal or fence is refused and touches no record",
		"an invalid claim is refused alone among its batch",
		"an invalid settlement is refused alone among its batch",
		"an invalid pulse is refused",
		"get refuses an invalid key",
		"forget refuses an invalid key",
		"a query that is out of bounds is refused",
		"a sweep without a limit is refused",
	},
}}
