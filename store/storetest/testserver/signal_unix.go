//go:build unix

package testserver

import "syscall"

// The signals that freeze a process and let it go on.
const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)
