package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// book is a ledger in a file, which outlives the process. Each line is a word
// and an order: "charged" when it was charged, and "recorded" when the store has
// acknowledged that.
type book struct {
	file     *os.File
	charged  map[string]int  // by earlier processes
	recorded map[string]bool // by earlier processes
}

// The words of a line.
const (
	charged  = "charged"
	recorded = "recorded"
)

// openBook reads what earlier processes have written. It makes the file if there
// is none.
func openBook(path string) (*book, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	b := &book{file: file, charged: map[string]int{}, recorded: map[string]bool{}}
	if err := b.read(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return b, nil
}

func (b *book) read() error {
	lines := bufio.NewScanner(b.file)
	for lines.Scan() {
		switch word, order, _ := strings.Cut(lines.Text(), " "); word {
		case charged:
			b.charged[order]++
		case recorded:
			b.recorded[order] = true
		default:
			return fmt.Errorf("%s is not the ledger of a demo", b.file.Name())
		}
	}
	return lines.Err()
}

// write is one system call, so that a kill leaves all of the line or nothing.
func (b *book) write(word, order string) error {
	_, err := b.file.WriteString(word + " " + order + "\n")
	return err
}

func (b *book) close() error { return b.file.Close() }

// String tells what earlier processes have done. What they charged without a
// record is charged again, as README.md says of a crash just there.
func (b *book) String() string {
	open := 0
	for order := range b.charged {
		if !b.recorded[order] {
			open++
		}
	}
	return fmt.Sprintf("%d orders were charged and recorded before, %d charged only", len(b.recorded), open)
}

// noted is the store of a scene with a book, which learns what was recorded.
type noted struct {
	Records
	book *book
}

// Complete is the store's, and a line of the book. If that cannot be written the
// call is repeated.
func (n noted) Complete(ctx context.Context, k store.Key, t store.Token, keep time.Duration) (store.Completion, error) {
	found, err := n.Records.Complete(ctx, k, t, keep)
	if err == nil {
		err = n.book.write(recorded, k.ID)
	}
	return found, err
}
