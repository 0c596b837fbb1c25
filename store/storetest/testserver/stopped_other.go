//go:build !linux

package testserver

import "os"

// awaitStopped cannot be told here when the threads of p have obeyed.
func awaitStopped(*os.Process) error { return nil }
