package listener_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// traffic sends orders while a test goes on, and some of them again: as a new
// message with the same key, as a business does.
type traffic struct {
	scene  *scene
	diary  diary
	random *rand.Rand
	keys   int
	end    context.CancelFunc
	over   chan struct{} // closed when nothing more is sent
}

func (s *scene) startTraffic(d diary, seed uint64, perSecond int) *traffic {
	ctx, end := context.WithCancel(s.t.Context())
	tr := &traffic{
		scene: s, diary: d, random: rand.New(rand.NewPCG(seed, 1)), end: end, over: make(chan struct{}),
	}
	go tr.run(ctx, perSecond)
	s.t.Cleanup(tr.stop)
	return tr
}

func (tr *traffic) run(ctx context.Context, perSecond int) {
	defer close(tr.over)
	began, sent := time.Now(), 0
	for pace := time.Tick(20 * time.Millisecond); ; {
		select {
		case <-pace:
		case <-ctx.Done():
			return
		}
		for due := int(time.Since(began).Seconds() * float64(perSecond)); sent < due; {
			n := min(due-sent, 32)
			sent += n
			if !tr.send(n) {
				return
			}
		}
	}
}

// send sends n messages as one batch, until the broker has them.
func (tr *traffic) send(n int) bool {
	ids, batch := make([]string, n), make([]*primitive.Message, n)
	for i := range n {
		ids[i] = fmt.Sprintf("order-%d", tr.draw())
	}
	for began := time.Now(); ; {
		for i, id := range ids { // anew, because a client changes what it sends
			batch[i] = order(tr.scene.named(tr.scene.Topic), id)
		}
		_, err := tr.scene.producer.SendSync(context.Background(), batch...)
		if err == nil {
			break
		}
		if time.Since(began) > 30*time.Second {
			tr.scene.t.Errorf("send: %v", err)
			return false
		}
	}
	for _, id := range ids {
		tr.diary.write(note{kind: sent, key: id})
	}
	return true
}

// draw is mostly a new order, in one of ten cases one that is just under way, and
// in one of ten an old one.
func (tr *traffic) draw() int {
	if tr.keys > 0 {
		switch tr.random.IntN(10) {
		case 0:
			return tr.keys - 1 - tr.random.IntN(min(tr.keys, 200))
		case 1:
			return tr.random.IntN(tr.keys)
		}
	}
	tr.keys++
	return tr.keys - 1
}

// stop ends the traffic.
func (tr *traffic) stop() {
	tr.end()
	<-tr.over
}
