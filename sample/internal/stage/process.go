package stage

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// The variables that make this program a part of the run that they name.
const nameEnv, partEnv = "SAMPLE_RUN", "SAMPLE_PART"

// Process is another process of a run. Either kill it, or wait for it.
type Process struct {
	// Output is what it writes to its standard output.
	Output io.Reader

	command *exec.Cmd
	input   io.Closer
}

// Start starts this program once more, with the same flags, as a part of the run: its
// [Main] gets a Run of the same name with that part, which is not empty.
func (r Run) Start(part string) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, os.Args[1:]...)
	command.Env = append(os.Environ(), nameEnv+"="+r.Name, partEnv+"="+part)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Process{output, command, input}, command.Start()
}

// Kill ends it as kill -9 does.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // an error means that it has ended, which Wait tells
	_ = p.command.Wait()         // killed, as it is to be
}

// Leave has its [AwaitLeave] return. It may be called by several goroutines.
func (p *Process) Leave() { _ = p.input.Close() } // an error means that it has left

// Wait waits for its end, and fails if its exit code is not 0.
func (p *Process) Wait() error { return p.command.Wait() }

// AwaitLeave returns when this process is told to leave, or when nobody is there any
// more who could tell it.
func AwaitLeave() { _, _ = io.Copy(io.Discard, os.Stdin) } // an error ends it, too

// KillHalfWay has two processes do the work that comes with what send sends: this one,
// and another of the part "second". When half of the steps are done that one is killed
// as kill -9 does it, and started again. done tells how many steps are done. That not
// all are when ctx ends is printed, but no error: it is for the last line to tell.
func (r Run) KillHalfWay(
	ctx context.Context, send func() error, steps int, done func(context.Context) (int, error),
) error {
	second, err := r.Start("second")
	if err != nil {
		return err
	}
	if err = send(); err == nil {
		err = awaitSteps(ctx, steps/2, done)
	}
	if err != nil {
		second.Kill()
		return err
	}
	fmt.Fprintln(os.Stderr, "half of the work is done: killing the second process")
	second.Kill()
	if second, err = r.Start("second"); err != nil {
		return err
	}
	if err := awaitSteps(ctx, steps, done); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	second.Leave()
	return second.Wait()
}

func awaitSteps(ctx context.Context, steps int, done func(context.Context) (int, error)) error {
	return Await(ctx, func() (bool, error) {
		n, err := done(ctx)
		return n >= steps, err
	})
}
