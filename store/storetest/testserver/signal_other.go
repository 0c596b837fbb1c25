//go:build !unix

package testserver

import "os"

// There is no signal that freezes a process here: sending one fails the test.
var sigStop, sigCont = os.Interrupt, os.Interrupt
