package rmqtest_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// fields are the fields of a request: name, value, and so on.
func fields(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// about is the fields of a request about queue 0 of the topic orders.
func about(more ...string) map[string]string {
	return fields(append([]string{"consumerGroup", "billing", "topic", "orders", "queueId", "0"}, more...)...)
}

// ask sends a request without a client and returns its answer.
func ask(t *testing.T, b *rmqtest.Broker, r rmqtest.Request, fields map[string]string, body []byte) *remoting.Command {
	t.Helper()
	c := dial(t, b)
	return c.ask(r, fields, body)
}

// code calls as the admin API of this module does and returns the answer's code.
func code(t *testing.T, b *rmqtest.Broker, r rmqtest.Request, fields map[string]string) int {
	t.Helper()
	_, err := remoting.Caller{}.Call(t.Context(), b.NameServer(), int(r), fields)
	var answer *remoting.CodeError
	if errors.As(err, &answer) {
		return answer.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	return remoting.Success
}

func offset(t *testing.T, b *rmqtest.Broker, r rmqtest.Request, more ...string) int64 {
	t.Helper()
	answer := ask(t, b, r, about(more...), nil)
	n, err := strconv.ParseInt(answer.ExtFields["offset"], 10, 64)
	if err != nil {
		t.Fatalf("request %d: got %+v", r, answer)
	}
	return n
}
