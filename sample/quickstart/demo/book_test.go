package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestABookTellsTheNextProcessWhatWasRecorded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	first := openedBook(t, path)
	l := newLedger([]string{"A", "B", "C"}, first)
	for _, order := range []string{"A", "B"} {
		if err := l.charge(order); err != nil {
			t.Fatal(err)
		}
	}
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := store.Key{Application: "demo", Topic: "orders", ID: "A"}
	if _, err := (noted{records, first}).Complete(t.Context(), key, store.NewToken(), time.Hour); err != nil {
		t.Fatal(err)
	}

	second := openedBook(t, path)
	if got, want := second.String(), "1 orders were charged and recorded before, 1 charged only"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l = newLedger([]string{"A", "B", "C", "A"}, second)
	for _, order := range []string{"A", "B"} { // A must not be, B may be
		if err := l.charge(order); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := l.result(), (Result{Distinct: 3, Ran: 2, Extra: 1, Lost: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAFileThatIsNoLedgerIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(path, []byte("Dear Sirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openBook(path); err == nil || !strings.Contains(err.Error(), "is not the ledger of a demo") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func openedBook(t *testing.T, path string) *book {
	t.Helper()
	b, err := openBook(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.close() })
	return b
}
