package storetest

import (
	"os"
	"testing"
)

// Server returns the address of a test server from the environment variable
// env, such as DEDUP_TEST_REDIS. Without one it skips the test and says how to
// run it; with DEDUP_TEST_STRICT=1 it fails the test instead, so that a gate
// never passes by skipping.
func Server(t testing.TB, env string) string {
	t.Helper()
	if address := os.Getenv(env); address != "" {
		return address
	}
	if os.Getenv("DEDUP_TEST_STRICT") == "1" {
		t.Fatalf("NO SERVER: %s is not set and DEDUP_TEST_STRICT=1; scripts/test.sh starts the servers and sets it", env)
	}
	t.Skipf("SKIPPED, NO SERVER: set %s to host:port, or run scripts/test.sh, which starts the servers", env)
	return ""
}
