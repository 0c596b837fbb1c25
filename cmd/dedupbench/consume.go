package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// contest is a whole benchmark on its way.
type contest struct {
	settings
	id     string // in the name of everything on the servers
	self   string // this program
	broker *broker
	server server
	topics map[int]topic // by the share of copies
	log    io.Writer
}

// consume is the verb; it returns the exit code.
func consume(ctx context.Context, args []string, out, log io.Writer) int {
	s, err := parse(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(log, "dedupbench consume:\n%v\n", err)
		return 2
	}
	listener.LogTo(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: listener.LevelFatal})))
	outcome, err := measure(ctx, s, log)
	if n := outcome.invalid(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d cells are invalid", n))
	}
	if len(outcome.Results) > 0 {
		fmt.Fprint(out, outcome.table())
		if err != nil {
			s.Write = "" // it shows only what counts
		}
		err = errors.Join(err, outcome.save(s))
	}
	if err != nil {
		fmt.Fprintln(log, "dedupbench consume:", err)
		return 1
	}
	return 0
}

// measure plays all cells. On an error the outcome holds those that were complete.
func measure(ctx context.Context, s settings, log io.Writer) (outcome outcome, err error) {
	c, err := newContest(ctx, s, log)
	if err != nil {
		return outcome, err
	}
	defer c.close()
	outcome = c.facts(ctx)
	cells := s.cells()
	for i, cell := range cells {
		fmt.Fprintf(log, "dedupbench: cell %d of %d: %v\n", i+1, len(cells), cell)
		r, err := c.play(ctx, cell)
		if err != nil {
			return outcome, err
		}
		outcome.Results = append(outcome.Results, r)
	}
	return outcome, nil
}

func newContest(ctx context.Context, s settings, log io.Writer) (*contest, error) {
	self, err := os.Executable()
	if err == nil && s.Profiles != "" {
		err = os.MkdirAll(s.Profiles, 0o755)
	}
	if err != nil {
		return nil, err
	}
	b, err := newBroker(s.NameServer)
	if err != nil {
		return nil, err
	}
	c := &contest{
		settings: s, id: "dedupbench-" + store.NewToken().String()[:12],
		self: self, broker: b, topics: map[int]topic{}, log: log,
	}
	if c.server, err = openServer(ctx, s); err != nil {
		b.close()
		return nil, err
	}
	return c, nil
}

func (c *contest) close() {
	for _, t := range c.topics {
		c.broker.remove(t.Name)
	}
	c.broker.close()
	_ = c.server.Close() // nothing is on its way
}

// play has every contender consume the topic of a cell, in turns.
func (c *contest) play(ctx context.Context, cell cell) (result, error) {
	t, err := c.topic(ctx, cell.Copies)
	if err != nil {
		return result{}, err
	}
	samples, err := interleave(c.field(), c.Warmups, c.Reps, func(who contender, turn int) (sample, error) {
		s := c.turn(ctx, cell, t, who, turn)
		fmt.Fprintln(c.log, "dedupbench:", describe(who, s, turn < c.Warmups))
		return s, ctx.Err()
	})
	return newResult(cell, c.field(), samples), err
}

// topic fills a topic when it is first needed.
func (c *contest) topic(ctx context.Context, copies int) (topic, error) {
	if t, ok := c.topics[copies]; ok {
		return t, nil
	}
	t, err := c.broker.fill(ctx, fmt.Sprintf("%s-dup%d", c.id, copies), c.Messages, c.Size, copies)
	c.topics[copies] = t // to be removed, even if it is not full
	return t, err
}

// interleave lets all contenders play in every turn, each turn beginning with
// another one, and returns the samples of each that count.
func interleave(
	field []contender, warmups, reps int, play func(who contender, turn int) (sample, error),
) ([][]sample, error) {
	samples := make([][]sample, len(field))
	for turn := range warmups + reps {
		for i := range field {
			n := (turn + i) % len(field)
			s, err := play(field[n], turn)
			if err != nil {
				return samples, err
			}
			if turn >= warmups {
				samples[n] = append(samples[n], s)
			}
		}
	}
	return samples, nil
}

// describe is a line of progress.
func describe(who contender, s sample, warmup bool) string {
	text := fmt.Sprintf("  %-8s %9s messages/s, %5s µs CPU", who.Name, number(s.Rate), number(s.CPU))
	if s.Invalid != "" {
		text = fmt.Sprintf("  %-8s invalid: %s", who.Name, s.Invalid)
	}
	if warmup {
		text += " (warm-up)"
	}
	return text
}
