package listener_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Each story is a diary: kind, process, key and the second of every note. A run
// is preceded by its claim. The lease is 3 s.
func TestAJudgeFindsWhatMustNotBeAndExcusesSleepers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		story string
		want  figures
	}{
		"a run each": {
			"m0A0 b1A1 e1A2 d1A2 m0B0 b2B1 e2B2 d2B2 s1A3",
			figures{messages: 2, known: 2, runs: 2, skipped: 1},
		},
		"a key that never ran": {
			"m0A0 m0B0 b1B1 e1B2",
			figures{messages: 2, known: 2, runs: 1, lost: 1},
		},
		"a key that only failed": {
			"m0A0 b1A1 f1A2",
			figures{messages: 1, known: 1, runs: 1, failed: 1, lost: 1},
		},
		"a run before the message is known to be sent": {"b1A0 e1A1 m0A1", figures{messages: 1, known: 1, runs: 1}},
		"a copy that runs again because nothing was recorded": {
			"m0A0 b1A1 e1A2 u1A2 m0A3 b2A3 e2A4",
			figures{messages: 2, known: 1, runs: 2, reruns: 1, unrecorded: 1},
		},
		"a claim after the record": {
			"m0A0 b1A1 e1A2 d1A2 g2A3 b2A3 e2A4",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, begunAfter: 1, grantedAfter: 1},
		},
		"a claim before the record and a run after it": {
			"m0A0 b1A1 g2A2 e1A3 d1A3 b2A4 e2A4",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, begunAfter: 1},
		},
		"a run without a claim": {"m0A0 n1A1 e1A1", figures{messages: 1, known: 1, runs: 1, unclaimed: 1}},
		"two at once": {
			"m0A0 b1A1 b2A2 e2A3 e1A3",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, overlaps: 1},
		},
		"the other is asleep": {
			"m0A0 b1A1 p1-1 b2A5 e2A5 c1-6 e1A6",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, pauses: 1, overlaps: 1, explained: 1},
		},
		"the other does not know yet that it has slept": {
			"m0A0 b1A1 p1-1 c1-6 b2A7 e2A8 f1A8",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, failed: 1, pauses: 1, overlaps: 1, explained: 1},
		},
		"the other should know that it has slept": {
			"m0A0 b1A1 p1-1 c1-6 b2A9 e2A9 f1A9",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, failed: 1, pauses: 1, overlaps: 1},
		},
		"the other has begun after it slept": {
			"m0A0 p1-1 c1-6 b1A6 b2A7 e2A8 e1A8",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, pauses: 1, overlaps: 1},
		},
		"the other sleeps but has its lease": {
			"m0A0 b1A1 p1-1 b2A3 e2A3 c1-4 e1A4",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, overlaps: 1},
		},
		"a third was asleep": {
			"m0A0 b1A1 p3-1 b2A5 e2A6 c3-6 e1A6",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, pauses: 1, overlaps: 1},
		},
		"the other was killed": {
			"m0A0 b1A1 k1-2 b2A5 e2A6",
			figures{messages: 1, known: 1, runs: 2, reruns: 1, kills: 1, cutShort: 1},
		},
		"members, the store and the network": {
			"j1-0 j2-0 l1-1 r0-2 x0-3 h0-4", figures{joins: 2, leaves: 1, restarts: 1, hangs: 1, cuts: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJudge(3 * time.Second)
			for _, word := range strings.Fields(c.story) {
				n := note{kind: word[0], process: int(word[1] - '0'), at: time.Unix(int64(word[3]-'0'), 0)}
				if key := word[2:3]; key != "-" {
					n.key, n.run = key, int(key[0])
				}
				switch n.kind {
				case 'n': // a run alone
					n.kind = runBegan
				case runBegan: // with its claim, unless that was told
					claim, own := n, func(claim note) bool { return claim.process == n.process }
					if claim.kind = granted; !slices.ContainsFunc(j.history(n.key).claims, own) {
						j.read(claim)
					}
				}
				j.read(n)
			}
			if j.figures != c.want {
				t.Errorf("got  %v\nwant %v", j.figures, c.want)
			}
			if j.findLost(); len(j.findings) != c.want.bad() {
				t.Errorf("got findings %v, want %d", j.findings, c.want.bad())
			}
		})
	}
}

func TestDiaryTellsEveryNoteInOrder(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/diary"
	d, err := openDiary(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.file.Close()
	var offset int64
	for round := range 3 {
		const n = 3000 // more than is read at one time
		for i := range n {
			d.write(note{kind: runBegan, process: round, run: i, key: "order"})
		}
		want := 0
		offset, err = readNotes(path, offset, func(got note) {
			if got.kind != runBegan || got.process != round || got.run != want || got.key != "order" || got.at.IsZero() {
				t.Fatalf("got %+v, want run %d of process %d", got, want, round)
			}
			want++
		})
		if err != nil || want != n {
			t.Fatalf("got %d notes, %v; want %d", want, err, n)
		}
	}
}
