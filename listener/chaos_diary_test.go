package listener_test

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// noteSize is the length of every note. It divides a page, so that the kernel
// writes a note as a whole even for a process that is killed at that moment.
const noteSize = 64

// What a note tells. The first ones are written by the consumers, the others by
// the test.
const (
	granted    = 'g' // a claim; at is when it was sent
	runBegan   = 'b' // before anything else in the callback
	runEnded   = 'e' // the callback succeeds
	runFailed  = 'f' // the callback fails, because it was cancelled perhaps
	recorded   = 'd' // the store has answered that the key is done
	unrecorded = 'u' // a run succeeded but could not be recorded
	skipped    = 's' // a copy was acknowledged without a run
	deferred   = 'w' // a copy was sent back
	arrived    = 'a' // a message of the first step was delivered to the second one
	published  = 'y' // the broker has asked about a transaction, and is told: committed
	withdrawn  = 't' // it is told: rolled back
	leftOpen   = 'q' // it is told: nobody knows yet. With these three, run is how many ms ago it asked

	sent      = 'm' // the broker has the message
	joined    = 'j' // the process was started
	left      = 'l' // the process has drained and is gone
	killed    = 'k' // the process is gone, by kill -9
	frozen    = 'p' // the process is about to be stopped
	thawed    = 'c' // the process is about to go on
	wentDown  = 'z' // the store, by kill -9
	restarted = 'r' // it works again
	hung      = 'h' // the store was stopped for a while; it takes what is sent, and answers later
	cutOff    = 'x' // the consumers were cut off from the store, or lost its replies
)

// note is one line of a diary.
type note struct {
	kind    byte
	process int // of a consumer, whoever wrote the note
	run     int // in that process
	key     string
	at      time.Time
}

func (n note) line() []byte {
	s := fmt.Sprintf("%c %d %d %d %s", n.kind, n.process, n.run, n.at.UnixNano(), n.key)
	if len(s) >= noteSize {
		panic("a note is too long: " + s)
	}
	return []byte(s + strings.Repeat(" ", noteSize-1-len(s)) + "\n")
}

func parseNote(line string) (n note, err error) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields) > 5 {
		return n, fmt.Errorf("not a note: %q", line)
	}
	var numbers [3]int
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(fields[i+1]); err != nil {
			return n, fmt.Errorf("not a note: %q: %w", line, err)
		}
	}
	n = note{kind: line[0], process: numbers[0], run: numbers[1], at: time.Unix(0, int64(numbers[2]))}
	if len(fields) == 5 {
		n.key = fields[4]
	}
	return n, nil
}

// diary is a file to which several processes append. The order of its notes is
// the order in which they were written, whatever the clocks say, and what a
// killed process has written stays. It knows nothing of any store.
type diary struct{ file *os.File }

func openDiary(path string) (diary, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return diary{f}, err
}

// write appends n, as of now unless it says when. A diary with gaps proves
// nothing, so a process that cannot write ends.
func (d diary) write(n note) {
	if n.at.IsZero() {
		n.at = time.Now()
	}
	if _, err := d.file.Write(n.line()); err != nil {
		panic(fmt.Sprintf("write a note: %v", err))
	}
}

// readNotes calls f with every note behind offset and returns the new end.
func readNotes(path string, offset int64, f func(note)) (end int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return offset, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return offset, err
	}
	for buf := make([]byte, 1024*noteSize); ; {
		n, err := io.ReadFull(file, buf)
		for whole := buf[:n-n%noteSize]; len(whole) > 0; whole = whole[noteSize:] {
			note, err := parseNote(string(whole[:noteSize]))
			if err != nil {
				return offset, err
			}
			f(note)
			offset += noteSize
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return offset, nil
		default:
			return offset, err
		}
	}
}
