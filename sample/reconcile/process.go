package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// The variables that make this program another process of a run, and what it does
// then.
const (
	roleEnv, nameEnv          = "RECONCILE_ROLE", "RECONCILE_NAME"
	roleConsume, roleCheckOut = "consume", "check out"
)

// infancy is how long a process lives at least. A broker that handles the first
// heartbeat of a consumer after the end of its connection believes for two minutes
// that it is alive, and keeps queues for it.
const infancy = 500 * time.Millisecond

// again runs this program in a role, anew whenever it was killed, until ctx ends.
func again(ctx context.Context, s settings, role string) (kills int, err error) {
	for {
		killed, err := once(ctx, s, role)
		if err != nil || !killed {
			return kills, err
		}
		kills++
	}
}

// once runs this program in a role until it ends by itself, as it does when ctx
// has ended, or says that it has come to the worst of moments: it is killed then.
func once(ctx context.Context, s settings, role string) (killed bool, err error) {
	program, err := os.Executable()
	if err != nil {
		return false, err
	}
	process := exec.Command(program, "-namesrv", s.namesrv, "-orders", strconv.Itoa(s.orders))
	process.Env = append(os.Environ(), roleEnv+"="+role, nameEnv+"="+s.name, "RECORDS_DSN="+s.records, "SHOP_DSN="+s.shop)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		return false, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return false, err
	}
	began := time.Now()
	if err := process.Start(); err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, func() { _ = input.Close() })()
	if _, err := io.ReadFull(output, make([]byte, 1)); err != nil {
		return false, process.Wait()
	}
	time.Sleep(time.Until(began.Add(infancy)))
	_ = process.Process.Kill() // an error means that it has ended, which Wait tells
	_ = process.Wait()         // killed, as it is to be
	return true, nil
}

// die has this process killed here and now: it comes back from nothing.
func die() {
	_, _ = os.Stdout.WriteString("!") // if nobody reads it any more, the end is near as well
	select {}
}
