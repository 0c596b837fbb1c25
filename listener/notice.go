package listener

import (
	"log/slog"
	"sync"
)

// maxNotices bounds what is remembered of topics, whose names come from outside.
const maxNotices = 1000

// notices says once for each topic what would otherwise go unnoticed, such as that
// its messages are not recognised by the key somebody had in mind.
type notices struct {
	said sync.Map // of notice
	mu   sync.Mutex
	n    int // guarded by mu
}

type notice struct{ text, topic string }

func (s *notices) warn(log *slog.Logger, text string, it *item, group string) {
	if topic := it.delivery.Key.Topic; s.first(notice{text, topic}) {
		log.Warn("dedup: "+text, "consumerGroup", group, "topic", topic, "msgId", it.msg.MsgId)
	}
}

// fail tells that messages are sent back because of err.
func (s *notices) fail(log *slog.Logger, err error, it *item, group string) {
	if topic := it.delivery.Key.Topic; s.first(notice{err.Error(), topic}) {
		log.Error("dedup: every message will be sent back", "consumerGroup", group, "topic", topic, "error", err)
	}
}

// first reports whether n is said for the first time.
func (s *notices) first(n notice) bool {
	if _, known := s.said.Load(n); known {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= maxNotices {
		return false
	}
	if _, known := s.said.LoadOrStore(n, true); known {
		return false
	}
	s.n++
	return true
}
