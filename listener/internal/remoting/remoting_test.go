package remoting_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	first := &remoting.Command{Code: 105, Language: "GO", Version: 317, Opaque: 9}
	first.ExtFields = map[string]string{"topic": "订单"}
	second := &remoting.Command{Code: 17, Flag: 1, Remark: "no", Body: []byte("{}")}
	for _, c := range []*remoting.Command{first, second} {
		if err := remoting.Write(&wire, c); err != nil {
			t.Fatal(err)
		}
	}
	first.Body = []byte{}
	for _, want := range []*remoting.Command{first, second} {
		got, err := remoting.Read(&wire)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := remoting.Read(&wire); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF at the end", err)
	}
}

func TestBadFramesAreRefused(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]string{
		"\x00\x00\x00\x03abc":                          "a frame of 3 bytes",
		"\xff\xff\xff\xff":                             "a frame of 4294967295 bytes",
		"\x01\x00\x00\x01":                             "a frame of 16777217 bytes",
		"\x00\x00\x00\x06\x00\x00\x00\x02{":            "cut short",
		"\x00\x00\x00\x06\x01\x00\x00\x02{}":           "header encoding 1",
		"\x00\x00\x00\x06\x00\x00\x00\x03{}":           "a header of 3 bytes",
		"\x00\x00\x00\x06\x00\x00\x00\x01{}":           "header: unexpected end",
		"\x00\x00\x00\x0e\x00\x00\x00\x0a{\"code\":x}": "header: invalid character",
	} {
		if _, err := remoting.Read(strings.NewReader(frame)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", frame, err, want)
		}
	}
	long := &remoting.Command{Body: make([]byte, remoting.MaxFrame)}
	if err := remoting.Write(io.Discard, long); err == nil {
		t.Error("wrote a frame that Read would refuse")
	}
}

func FuzzRead(f *testing.F) {
	var wire bytes.Buffer
	if err := remoting.Write(&wire, &remoting.Command{Code: 1, Body: []byte("x")}); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Add([]byte("\x00\x00\x00\x06\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		r := bytes.NewReader(frame)
		c, err := remoting.Read(r)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := remoting.Write(&again, c); err != nil {
			t.Skip("escaping made the header too long")
		}
		if len(c.ExtFields) == 0 {
			c.ExtFields = nil // {} is not written
		}
		if d, err := remoting.Read(&again); err != nil || !reflect.DeepEqual(c, d) {
			t.Fatalf("got %+v, %v, want %+v", d, err, c)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911"},"brokerName":"b"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, routeErr := remoting.ParseRoute(body)
		_, clusterErr := remoting.ParseCluster(body)
		if len(body) == 0 && (routeErr == nil || clusterErr == nil) {
			t.Fatal("accepted an empty body")
		}
	})
}

func TestParseRouteReadsBareAndQuotedNumbers(t *testing.T) {
	t.Parallel()
	const rest = `,"brokerName":"a","cluster":"c"}],` +
		`"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":1,"writeQueueNums":2}]}`
	for _, addresses := range []string{
		`{0:"10.0.0.1:10911",1:"10.0.0.2:10911"}`, `{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"}`,
	} {
		r, err := remoting.ParseRoute([]byte(`{"brokerDatas":[{"brokerAddrs":` + addresses + rest))
		if err != nil {
			t.Fatal(err)
		}
		want := remoting.Queues{Broker: "a", Read: 1, Write: 2}
		if len(r.Brokers) != 1 || r.Brokers[0].Master() != "10.0.0.1:10911" || r.Queues[0] != want {
			t.Errorf("got %+v", r)
		}
	}
}

// serve answers one connection with answer, and returns its address and the
// request once it has come.
func serve(t *testing.T, answers ...*remoting.Command) (string, <-chan *remoting.Command) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	requests, done := make(chan *remoting.Command, 1), make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if c, err := remoting.Read(conn); err == nil {
			requests <- c
		}
		for _, a := range answers {
			_ = remoting.Write(conn, a) // the caller may have left
		}
		_, _ = io.Copy(io.Discard, conn) // until the caller closes
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String(), requests
}

func TestCallReturnsTheBodyOfItsOwnAnswer(t *testing.T) {
	t.Parallel()
	addr, requests := serve(t,
		&remoting.Command{Code: 40, Opaque: 1},                              // a request of the server's
		&remoting.Command{Code: 0, Opaque: 2, Flag: 1, Body: []byte("not")}, // an answer to somebody else
		&remoting.Command{Code: 0, Opaque: 1, Flag: 1, Body: []byte("mine")},
	)
	body, err := remoting.Caller{}.Call(t.Context(), addr, 105, map[string]string{"topic": "t"})
	if err != nil || string(body) != "mine" {
		t.Errorf("got %q, %v, want mine", body, err)
	}
	if c := <-requests; c.Code != 105 || !reflect.DeepEqual(c.ExtFields, map[string]string{"topic": "t"}) {
		t.Errorf("got request %+v, want an unsigned one", c)
	}
}

func TestCallReportsTheCodeOfTheAnswer(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, &remoting.Command{Code: 16, Opaque: 1, Flag: 1, Remark: "no permission\n\tat Broker.java"})
	_, err := remoting.Caller{}.Call(t.Context(), addr, 17, nil)
	var code *remoting.CodeError
	if !errors.As(err, &code) || *code != (remoting.CodeError{Code: 16, Remark: "no permission"}) {
		t.Errorf("got %v, want code 16 with the first line", err)
	}
}

func TestCallSignsWithCredentials(t *testing.T) {
	t.Parallel()
	addr, requests := serve(t, &remoting.Command{Opaque: 1, Flag: 1})
	caller := remoting.Caller{Credentials: primitive.Credentials{AccessKey: "ak", SecretKey: "sk", SecurityToken: "st"}}
	fields := map[string]string{"topic": "t", "Zone": "z"}
	if _, err := caller.Call(t.Context(), addr, 17, fields); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // HMAC-SHA1 of "akstzt" by openssl
		"topic": "t", "Zone": "z", "AccessKey": "ak", "SecurityToken": "st", "Signature": "ofM15igYfy71QOsePO2Ordp0Yys=",
	}
	if c := <-requests; !reflect.DeepEqual(c.ExtFields, want) {
		t.Errorf("got %v, want %v", c.ExtFields, want)
	}
	if len(fields) != 2 {
		t.Errorf("changed the caller's fields: %v", fields)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	addr, requests := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-requests; cancel() }()
	start := time.Now()
	_, err := remoting.Caller{}.Call(ctx, addr, 105, nil)
	if !errors.Is(err, context.Canceled) || time.Since(start) > 2*time.Second {
		t.Errorf("got %v after %v, want canceled at once", err, time.Since(start))
	}
}

func TestCallTellsAnUnreachableServer(t *testing.T) {
	t.Parallel()
	const addr = "127.0.0.1:1" // no port of an outgoing connection, which could be to itself
	_, err := remoting.Caller{}.Call(t.Context(), addr, 105, nil)
	if err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("got %v, want an error naming %s", err, addr)
	}
}
