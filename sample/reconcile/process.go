package main

import (
	"context"
	"io"
	"os"
	"time"
)

// The parts of other processes.
const consuming, checkingOut = "consume", "check out"

// infancy is how long a process lives at least. A broker that handles the first
// heartbeat of a consumer after the end of its connection believes for two minutes
// that it is alive, and keeps queues for it.
const infancy = 500 * time.Millisecond

// again runs this program as a part, anew whenever it was killed, until ctx ends.
func again(ctx context.Context, s settings, part string) (kills int, err error) {
	for {
		killed, err := once(ctx, s, part)
		if err != nil || !killed {
			return kills, err
		}
		kills++
	}
}

// once runs this program as a part until it ends by itself, as it does when ctx
// has ended, or says that it has come to the worst of moments: it is killed then.
func once(ctx context.Context, s settings, part string) (killed bool, err error) {
	began := time.Now()
	process, err := s.Start(part)
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, process.Leave)()
	if _, err := io.ReadFull(process.Output, make([]byte, 1)); err != nil {
		return false, process.Wait()
	}
	time.Sleep(time.Until(began.Add(infancy)))
	process.Kill()
	return true, nil
}

// die has this process killed here and now: it comes back from nothing.
func die() {
	_, _ = os.Stdout.WriteString("!") // if nobody reads it any more, the end is near as well
	select {}
}
