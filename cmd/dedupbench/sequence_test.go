package main

import (
	"bytes"
	"testing"
)

func TestCopiesComeLongAfterTheirFirst(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{0, 1, 20, 50} {
		for _, n := range []int{0, 1, 2, 3, 7, 100, 2500} {
			keys, distinct := sequence(n, percent)
			if want := n - n*percent/100; len(keys) != n || distinct != want {
				t.Fatalf("%d messages, %d %%: got %d messages, %d keys, want %d keys", n, percent, len(keys), distinct, want)
			}
			first := map[int]int{}
			for i, key := range keys {
				before, seen := first[key]
				switch {
				case !seen && key != len(first):
					t.Fatalf("%d messages, %d %%: got key %d as the new one at %d, want %d", n, percent, key, i, len(first))
				case !seen:
					first[key] = i
				case i-before < n/2:
					t.Errorf("%d messages, %d %%: the copy at %d is only %d behind its first", n, percent, i, i-before)
				}
			}
			if len(first) != distinct {
				t.Errorf("%d messages, %d %%: got %d keys, said to be %d", n, percent, len(first), distinct)
			}
		}
	}
}

func TestCopiesAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	keys, _ := sequence(1000, 20)
	seen, copies := map[int]bool{}, []int{}
	for i, key := range keys {
		if seen[key] {
			copies = append(copies, i)
		}
		seen[key] = true
	}
	for n := 1; n < len(copies); n++ {
		if gap := copies[n] - copies[n-1]; gap < 2 || gap > 3 {
			t.Errorf("got %d messages between two copies, want 2 or 3: 200 in the last 500", gap)
		}
	}
}

func TestQueuesShareAllMessages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 101, 20_000} {
		for _, queues := range []int{1, 7, 8, 64} {
			sum := 0
			for i := range queues {
				sum += share(n, i, queues)
			}
			if sum != n {
				t.Errorf("%d messages over %d queues: got %d", n, queues, sum)
			}
		}
	}
}

func TestABodyTellsItsNumbers(t *testing.T) {
	t.Parallel()
	b := body(200, 70_000, 1<<31)
	message, key, err := numbers(b)
	if len(b) != 200 || message != 70_000 || key != 1<<31 || err != nil {
		t.Errorf("got %d bytes, %d, %d, %v", len(b), message, key, err)
	}
	if bytes.ContainsRune(b[headSize:], 0) {
		t.Error("got a filling of zeros, which compresses too well")
	}
	if _, _, err := numbers(b[:headSize-1]); err == nil {
		t.Error("a short body: got no error")
	}
}
