package reconcile_test

import (
	"path/filepath"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

func TestKeysOfKilledConsumersComeToTheirEndInSQLite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "records.db")
	s, err := sqlitestore.Open(t.Context(), file, sqlitestore.Options{Synchronous: "NORMAL"})
	if err != nil {
		t.Fatal(err)
	}
	killed(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestKeysOfKilledConsumersComeToTheirEndInMemory(t *testing.T) {
	t.Parallel()
	killed(t, memory(t))
}
