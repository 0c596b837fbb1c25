package testserver_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// skipped is a test that notes why it is skipped.
type skipped struct {
	testing.TB
	why string
}

func (s *skipped) Helper() {}

func (s *skipped) Skipf(format string, args ...any) {
	s.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestNoServerStartsWhereNoneIsWanted(t *testing.T) {
	t.Setenv("DEDUP_TEST_SERVERS", "none")
	t.Setenv("DEDUP_TEST_STRICT", "")
	for name, begin := range map[string]func(testing.TB){
		"Redis":    func(t testing.TB) { testserver.Redis(t) },
		"Cluster":  func(t testing.TB) { testserver.Cluster(t, 1, 0) },
		"Sentinel": func(t testing.TB) { testserver.Sentinel(t) },
		"MariaDB":  func(t testing.TB) { testserver.MariaDB(t) },
		"MySQL":    func(t testing.TB) { testserver.MySQL(t) },
	} {
		s, over := &skipped{TB: t}, make(chan struct{})
		go func() { defer close(over); begin(s) }()
		if <-over; !strings.Contains(s.why, "DEDUP_TEST_SERVERS") {
			t.Errorf("%s: got %q, want a skip that names the variable", name, s.why)
		}
	}
}
