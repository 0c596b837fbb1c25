package listener

import (
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// route is one callback of a listener: runAll and runOne for Wrap, runOne for
// Each, runTx for Tx.
type route struct {
	runAll Callback
	runOne Handler
	runTx  TxHandler
}

// routes tells which callback the messages of a topic belong to. The client
// chooses by the first message of a batch only.
type routes struct {
	mu      sync.RWMutex // guards what follows
	byTopic map[string]*route
	only    *route // the callback, as long as there is just one
	count   int
}

func (s *routes) add(r *route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.only = r; s.count > 1 {
		s.only = nil
	}
}

func (s *routes) set(topic string, r *route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTopic == nil {
		s.byTopic = map[string]*route{}
	}
	s.byTopic[topic] = r
}

// learn notes that the client chose r for a batch that begins with topic.
func (s *routes) learn(topic string, r *route) {
	s.mu.RLock()
	known := s.byTopic[topic]
	s.mu.RUnlock()
	if known != r {
		s.set(topic, r)
	}
}

// find returns the callback of topic, or nil while it is not known. A listener
// with one callback always knows.
func (s *routes) find(topic string) *route {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.byTopic[topic]; r != nil {
		return r
	}
	return s.only
}

// topicOf is the topic a message was first sent to, without namespace. The
// client restores it on retries unless it lacks the subscription at that moment.
func (l *DedupConcurrentListener) topicOf(m *primitive.MessageExt) string {
	topic := m.Topic
	if strings.HasPrefix(topic, retryPrefix) {
		if first := m.GetProperty(primitive.PropertyRetryTopic); first != "" {
			topic = first
		}
	}
	if l.options.Namespace == "" {
		return topic
	}
	return strings.TrimPrefix(topic, l.options.Namespace+"%")
}
