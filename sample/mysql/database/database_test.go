package database_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/mysql/database"
)

// A DSN that cannot be read is refused without a word of it, which might be the
// password.
func ExampleOpen() {
	_, err := database.Open("hunter2", 16)
	fmt.Println(err)
	// Output: the DSN is not like user:password@tcp(host:port)/database
}

func TestAPoolHasAsManyConnectionsAsWereAskedFor(t *testing.T) {
	t.Parallel()
	db, err := database.Open("root@tcp(127.0.0.1:1)/dedup?parseTime=true", 7)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Stats().MaxOpenConnections; got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

func TestAServerThatIsNotThereIsToldOf(t *testing.T) {
	t.Parallel()
	_, _, err := database.Records(t.Context(), "root:hunter2@tcp(127.0.0.1:1)/dedup", 16)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want the address, and no password", err)
	}
}
