package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// childRole has the test binary act as a process of an application.
const childRole = "SQLITESTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	act, isChild := map[string]func(*sqlitestore.Store) error{
		"complete": completeForEver, "race": raceOnce,
	}[os.Getenv(childRole)]
	if !isChild {
		os.Exit(m.Run())
	}
	s, err := sqlitestore.Open(context.Background(), os.Args[1], sqlitestore.Options{BusyTimeout: time.Minute})
	if err == nil {
		err = errors.Join(act(s), s.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child starts this test binary in a role, on a file.
func child(t *testing.T, role, path string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self, path)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	pipe, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewScanner(pipe)
}

// completeForEver writes the id of every key whose complete was acknowledged.
func completeForEver(s *sqlitestore.Store) error {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				r := request(strconv.FormatInt(next.Add(1), 10))
				v, err := s.Claim(context.Background(), r)
				if err != nil || v.State != store.Claimed {
					return
				}
				if _, err := s.Complete(context.Background(), r.Key, r.Token, keepTime); err != nil {
					return
				}
				fmt.Println(r.Key.ID)
			}
		})
	}
	all.Wait()
	return errors.New("a call failed")
}

func TestWhatAKilledProcessHasCompletedIsDone(t *testing.T) {
	t.Parallel()
	for _, enough := range []int{1, 50, 500} {
		path := filepath.Join(t.TempDir(), "dedup.db")
		cmd, _, out := child(t, "complete", path)
		var done []string
		for out.Scan() {
			if done = append(done, out.Text()); len(done) == enough {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		if len(done) < enough {
			t.Fatalf("the process completed %d keys, want %d before it is killed", len(done), enough)
		}
		s := open(t, path, sqlitestore.Options{})
		for _, id := range done {
			claim(t, s, id, store.Done)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

const raceKeys = 100

// raceOnce claims every key as soon as the input ends, and writes which it was
// granted.
func raceOnce(s *sqlitestore.Store) error {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for i := range raceKeys {
		r := request(strconv.Itoa(i))
		switch v, err := s.Claim(context.Background(), r); {
		case err != nil:
			return err
		case v.State == store.Claimed:
			fmt.Println(i)
		case v.State != store.Busy:
			return fmt.Errorf("got %v", v.State)
		}
	}
	return nil
}

func TestOfManyProcessesOneIsGrantedEachKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	type process struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var processes []process
	for range 4 {
		var p process
		p.cmd, p.in, p.out = child(t, "race", path)
		processes = append(processes, p)
	}
	for _, p := range processes {
		if !p.out.Scan() {
			t.Fatal("a process did not open the file")
		}
	}
	for _, p := range processes {
		_ = p.in.Close() // off they go; one that has died is found below
	}
	granted := map[string]int{}
	for _, p := range processes {
		for p.out.Scan() {
			granted[p.out.Text()]++
		}
		if err := p.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	for i := range raceKeys {
		if n := granted[strconv.Itoa(i)]; n != 1 {
			t.Errorf("key %d was granted to %d processes, want 1", i, n)
		}
	}
}
