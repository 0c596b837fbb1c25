package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// scene is one play of the story.
type scene struct {
	settings Settings
	broker   *broker
	name     string  // of topic and group
	records  Records // nil without dedup
	plan     []string
	ledger   *ledger

	progress io.Writer
	began    time.Time
	told     time.Time

	alive, dead []*member // in the order in which they joined
}

func newScene(s Settings, b *broker, name string, records Records, l *book, progress io.Writer) *scene {
	if l != nil {
		records = noted{records, l}
	}
	plan := s.plan()
	return &scene{
		settings: s, broker: b, name: name, records: records,
		plan: plan, ledger: newLedger(plan, l), progress: progress,
	}
}

// play returns what came of it. Its consumers are stopped then.
func (s *scene) play(ctx context.Context) (Result, error) {
	s.began = time.Now()
	if err := s.broker.createTopic(ctx, s.name, 2*(s.settings.Consumers+2)); err != nil {
		return Result{}, err
	}
	acting, cancel := context.WithCancelCause(ctx)
	var producer sync.WaitGroup
	producer.Go(func() {
		if err := s.produce(acting); err != nil {
			cancel(err)
		}
	})
	err := s.act(acting)
	took := time.Since(s.began)
	cancel(nil)
	producer.Wait()
	err = errors.Join(err, s.end(ctx))
	r := s.ledger.result() // not before the consumers have stopped: they might charge an order more
	r.Seconds = float64(took.Milliseconds()) / 1000
	return r, err
}

// act is the story, until every message is done or nothing happens any more.
func (s *scene) act(ctx context.Context) error {
	for range s.settings.Consumers {
		if err := s.join(); err != nil {
			return err
		}
	}
	s.tell("%d consumers, %d messages to come", len(s.alive), len(s.plan))
	for _, next := range []struct {
		when func() bool
		do   func(context.Context) error
	}{
		{s.ledger.share(25), s.oneJoins},
		{s.ledger.share(50), s.oneLeaves},
		{s.ledger.share(75), s.oneDies},
		{s.ledger.over, s.allIsDone},
	} {
		// Over too early is what a wrong store makes of it.
		ready := func() bool { return next.when() || s.ledger.over() }
		if ok, err := s.await(ctx, ready); !ok {
			return err
		}
		if err := next.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) oneJoins(context.Context) error {
	s.tell("a consumer joins")
	return s.join()
}

func (s *scene) oneLeaves(ctx context.Context) error {
	s.tell("a consumer is stopped")
	m := s.alive[0]
	s.alive = s.alive[1:]
	return m.leave(ctx)
}

func (s *scene) oneDies(context.Context) error {
	s.tell("a consumer is cut off")
	m := s.alive[0]
	s.alive, s.dead = s.alive[1:], append(s.dead, m)
	return m.die()
}

func (s *scene) allIsDone(context.Context) error {
	s.tell("done")
	return nil
}

// end stops who is left, also when ctx is over.
func (s *scene) end(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, m := range s.alive {
		errs = append(errs, m.leave(ctx))
	}
	for _, m := range s.dead {
		close(m.buried)
	}
	return errors.Join(errs...)
}

// await looks until done and tells every second how far it is. It gives up, with
// false, when nothing happens for long.
func (s *scene) await(ctx context.Context, done func() bool) (bool, error) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !done() {
		if s.ledger.silence() > s.broker.patience {
			s.tell("given up: nothing has happened for %v", s.broker.patience)
			return false, nil
		}
		if time.Since(s.told) > time.Second {
			s.tell("%d messages are not done", s.ledger.left())
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

// tell writes a line of progress, which nobody depends on.
func (s *scene) tell(format string, args ...any) {
	r := s.ledger.result()
	line := fmt.Sprintf("%6.1f s %7d charged %6d extra   ", time.Since(s.began).Seconds(), r.Ran, r.Extra)
	fmt.Fprintln(s.progress, strings.TrimRight(line+fmt.Sprintf(format, args...), " "))
	s.told = time.Now()
}
