package demo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Records is the store that remembers the orders.
type Records interface {
	store.Store
	store.Renewer
}

// ErrWrong says that an order was lost or charged twice although records were kept.
var ErrWrong = errors.New("with dedup an order was lost or charged twice")

// Run plays the story without records and then with them. It tells on progress
// how it goes and writes its report to out. The error wraps [ErrWrong] if the
// report is not what dedup promises. The client's own log, which tells of every
// connection that is cut, is the caller's to silence: see listener.LogTo.
func Run(ctx context.Context, s Settings, records Records, out, progress io.Writer) (err error) {
	if err := s.Validate(); err != nil {
		return err
	}
	name, ledger := "quickstart-"+store.NewToken().String()[:12], (*book)(nil)
	if s.Ledger != "" {
		if ledger, err = openBook(s.Ledger); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		defer func() { err = errors.Join(err, ledger.close()) }()
		name = "quickstart-with-ledger" // the keys are those of every such demo
	}
	b, err := openBroker(s)
	if err != nil {
		return err
	}
	defer b.close()
	var r Report
	fmt.Fprintln(progress, "without dedup")
	if r.Without, err = newScene(s, b, name+"-without", nil, nil, progress).play(ctx); err != nil {
		return fmt.Errorf("without dedup: %w", err)
	}
	fmt.Fprintln(progress, "with dedup")
	if ledger != nil {
		fmt.Fprintln(progress, ledger)
	}
	if r.With, err = newScene(s, b, name+"-with", records, ledger, progress).play(ctx); err != nil {
		return fmt.Errorf("with dedup: %w", err)
	}
	if err := r.write(out, s.JSON); err != nil {
		return err
	}
	return r.verdict()
}
