package testserver

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitStopped waits until every thread of p, a child of this process, is stopped:
// the signal is only an order, and on a busy machine the threads work on for tens of
// milliseconds before they obey. It fails when p has ended instead.
func awaitStopped(p *os.Process) error {
	for {
		// WNOWAIT leaves the stop to be seen again, so that a frozen process can be frozen.
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
