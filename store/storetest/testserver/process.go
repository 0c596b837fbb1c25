package testserver

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// process is one life of a server, and the reader of its output.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed at the end of its output

	mu   sync.Mutex // guards what follows
	log  strings.Builder
	more chan struct{} // closed and replaced when log grows
}

func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{}), more: make(chan struct{})}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("testserver: %s: %v", cmd.Path, err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("testserver: %s: %v", cmd.Path, err)
	}
	go p.read(out)
	return p
}

func (p *process) read(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
}

// await waits until the server has logged text. It reports false when the
// server ends without, or takes longer than a slow machine needs.
func (p *process) await(text string) bool {
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for ended := p.ended; ; {
		p.mu.Lock()
		logged, more := strings.Contains(p.log.String(), text), p.more
		p.mu.Unlock()
		if logged || ended == nil {
			return logged
		}
		select {
		case <-more:
		case <-ended:
			ended = nil // look once more at all that it has said
		case <-limit.C:
			return false
		}
	}
}

// kill may be called again.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended already
	<-p.ended
	_ = p.cmd.Wait() // "signal: killed" is what was asked for
}

// signal fails the test when the process is gone; p may be nil then.
func (p *process) signal(t testing.TB, send func(*os.Process) error) {
	t.Helper()
	if p == nil {
		t.Fatal("testserver: the server does not run")
	}
	if err := send(p.cmd.Process); err != nil {
		t.Fatalf("testserver: signal: %v", err)
	}
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Freeze stops a process that the test has started: its connections stay open
// and it does nothing until [Thaw], nor does it know later that it was stopped. On
// Linux it does nothing any more when Freeze returns.
func Freeze(p *os.Process) error {
	if err := p.Signal(sigStop); err != nil {
		return err
	}
	return awaitStopped(p)
}

// Thaw lets a frozen process go on.
func Thaw(p *os.Process) error { return p.Signal(sigCont) }
