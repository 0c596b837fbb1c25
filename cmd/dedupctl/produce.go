package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// placeholder is replaced by the message's key in -body.
const placeholder = "{key}"

// series is what produce is to send.
type series struct {
	topic, key, tag string
	body, file      string
	content         []byte // of file
	count, resend   int
}

func (t *tool) produce(ctx context.Context, args []string) error {
	var s series
	f := flag.NewFlagSet("produce", flag.ContinueOnError)
	file := f.String("config", "", "configuration `FILE`")
	f.StringVar(&s.topic, "topic", "", "`TOPIC`, without namespace")
	f.StringVar(&s.key, "key", "", "`KEY` of the message: its KEYS, and the property that the configuration says")
	f.StringVar(&s.tag, "tag", "", "`TAG` of the message")
	f.StringVar(&s.body, "body", "", "body as `TEXT`, in which "+placeholder+" stands for the message's key\n"+
		`(default {"key":"{key}"})`)
	f.StringVar(&s.file, "file", "", "`FILE` that holds the body, - for the standard input")
	f.IntVar(&s.count, "count", 0, "send `N` messages with the keys KEY-1 to KEY-N instead of one with KEY")
	f.IntVar(&s.resend, "resend", 0, "`PERCENT` of the messages to send once more, each right after itself,\n"+
		"as a new message with the same key")
	if err := t.parse(f, args, "config", "topic", "key"); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	c, err := t.load(*file)
	if err != nil {
		return err
	}
	if s.file != "" {
		if s.content, err = t.read(s.file); err != nil {
			return fmt.Errorf("-file: %w", err)
		}
	}
	return t.send(ctx, c, s)
}

func (s series) check() error {
	var wrong []string
	for _, w := range []struct {
		when bool
		text string
	}{
		{strings.ContainsAny(s.key, " \x01\x02"), "-key holds a blank or a control character, which KEYS cannot carry"},
		{s.body != "" && s.file != "", "-body and -file exclude each other"},
		{s.count < 0, "-count is below zero"},
		{s.resend < 0 || s.resend > 100, "-resend wants a percentage from 0 to 100"},
	} {
		if w.when {
			wrong = append(wrong, w.text)
		}
	}
	if len(wrong) > 0 {
		return usageError("produce: " + strings.Join(wrong, ", "))
	}
	return nil
}

func (t *tool) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(t.stdin)
	}
	return os.ReadFile(file)
}

// send prints how far it came even if it fails on the way.
func (t *tool) send(ctx context.Context, c config.Config, s series) (err error) {
	if text := unconfigured(c, s.topic); text != "" {
		t.log.Warn("dedupctl: " + text)
	}
	if err := open.NameServers(ctx, c); err != nil {
		return err
	}
	p, err := open.Producer(c)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		return fmt.Errorf("producer: %w", err)
	}
	defer func() { err = errors.Join(err, p.Shutdown()) }()
	if m, err := s.message(c, s.keyOf(1)); err != nil {
		return err
	} else if problem := unfound(c, s.topic, m); problem != "" {
		t.log.Warn("dedupctl: " + problem)
	}
	distinct, resent, err := s.sendAll(ctx, c, p)
	fmt.Fprintf(t.stdout, "sent=%d distinct=%d resent=%d\n", distinct+resent, distinct, resent)
	return err
}

func (s series) sendAll(ctx context.Context, c config.Config, p rocketmq.Producer) (distinct, resent int, err error) {
	for i := 1; i <= max(s.count, 1); i++ {
		if err := s.sendOne(ctx, c, p, s.keyOf(i)); err != nil {
			return distinct, resent, err
		}
		distinct++
		// Spread evenly, and the same in every call.
		if i*s.resend/100 > (i-1)*s.resend/100 {
			if err := s.sendOne(ctx, c, p, s.keyOf(i)); err != nil {
				return distinct, resent, err
			}
			resent++
		}
	}
	return distinct, resent, nil
}

func (s series) sendOne(ctx context.Context, c config.Config, p rocketmq.Producer, key string) error {
	m, err := s.message(c, key)
	if err != nil {
		return err
	}
	if _, err := p.SendSync(ctx, m); err != nil {
		return fmt.Errorf("send %s to %s: %w", key, s.topic, err)
	}
	return nil
}

func (s series) keyOf(i int) string {
	if s.count == 0 {
		return s.key
	}
	return fmt.Sprintf("%s-%d", s.key, i)
}

// message is a new message with key where the configuration looks for it, as
// far as that is a property.
func (s series) message(c config.Config, key string) (*primitive.Message, error) {
	body, err := s.bodyFor(key)
	if err != nil {
		return nil, err
	}
	m := open.Message(c, s.topic, body)
	m.WithKeys([]string{key})
	if s.tag != "" {
		m.WithTag(s.tag)
	}
	if name, ok := strings.CutPrefix(expression(c, s.topic), "property:"); ok {
		m.WithProperty(name, key)
	}
	return m, nil
}

func (s series) bodyFor(key string) ([]byte, error) {
	switch {
	case s.file != "":
		return s.content, nil
	case s.body != "":
		return []byte(strings.ReplaceAll(s.body, placeholder, key)), nil
	}
	return json.Marshal(map[string]string{"key": key})
}

// expression is the key expression of topic, "" if it has none.
func expression(c config.Config, topic string) string {
	for _, t := range c.Topics {
		if t.Name == topic {
			return t.Key
		}
	}
	return ""
}

// unconfigured tells that topic is none of c's.
func unconfigured(c config.Config, topic string) string {
	var names []string
	for _, t := range c.Topics {
		names = append(names, t.Name)
	}
	if slices.Contains(names, topic) {
		return ""
	}
	return fmt.Sprintf("topic %s is not in the configuration: its consumers take %s only, and the key goes to KEYS alone",
		topic, strings.Join(names, ", "))
}

// unfound tells why consumers of c will not find a key in m.
func unfound(c config.Config, topic string, m *primitive.Message) string {
	expr := expression(c, topic)
	key, err := listener.ParseKey(expr)
	if expr == "" || err != nil || expr == "message_id" || expr == "default" {
		return "" // nothing that the message could lack
	}
	arrived := &primitive.MessageExt{}
	arrived.Topic, arrived.Body = m.Topic, m.Body
	arrived.WithProperties(m.GetProperties())
	switch found, err := key(arrived); {
	case err != nil:
		return fmt.Sprintf("consumers will defer these messages: key %s: %v", expr, err)
	case found == "":
		return fmt.Sprintf("consumers will find no key in these messages: %s is not in them; see -body", expr)
	}
	return ""
}
