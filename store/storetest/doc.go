// Package storetest is the contract of package store as a test suite. Use this
// when you write a [store.Store]: one call of [Run] judges it, and a test of
// about ten lines is all a driver needs.
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			New: func(t testing.TB) store.Store { return mystore.New(client) },
//		})
//	}
//
// Every [Case] is something a store must do, and says why somebody depends on
// it. A case that needs an ability or a hook which is missing is reported as
// skipped, by name. Each case is proved by a deliberately wrong store that
// fails it: run TestWrongStores of this package with -v to see them.
//
// The suite sees a store from one machine. That no clock of the caller's is
// compared with another's, and what a server does when it restarts or fails
// over, is for the tests of the driver.
//
// [Flaky] puts faults between a store and its caller, for tests of the code
// that uses one. [Server] finds the test servers.
package storetest
