package remoting

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// The answers that callers tell apart.
const (
	Success       = 0
	TopicNotExist = 17
)

// callTimeout bounds one request, connecting included.
const callTimeout = 3 * time.Second

// CodeError is an answer other than success.
type CodeError struct {
	Code   int
	Remark string // the server's words, first line only
}

// Error is code and remark.
func (e *CodeError) Error() string { return fmt.Sprintf("code %d: %s", e.Code, e.Remark) }

// Caller sends requests. The zero Caller sends them unsigned and in the clear.
type Caller struct {
	Credentials primitive.Credentials // empty: requests are not signed
	TLS         *tls.Config           // nil: no TLS
}

// Call sends one request to addr on a connection of its own and returns the
// body of the answer. An answer other than success is a [*CodeError]. It takes
// three seconds at the most.
func (c Caller) Call(ctx context.Context, addr string, code int, fields map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.exchange(ctx, addr, &Command{
		Code: code, Language: "GO", Version: 317, Opaque: 1, ExtFields: c.signed(fields),
	})
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // the connection was closed for that
		}
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	if answer.Code != Success {
		remark, _, _ := strings.Cut(answer.Remark, "\n")
		return nil, fmt.Errorf("%s: %w", addr, &CodeError{answer.Code, remark})
	}
	return answer.Body, nil
}

func (c Caller) exchange(ctx context.Context, addr string, request *Command) (*Command, error) {
	conn, err := c.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing is lost with it
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := Write(conn, request); err != nil {
		return nil, err
	}
	for {
		answer, err := Read(conn)
		if err != nil {
			return nil, err
		}
		if answer.Flag&IsResponse != 0 && answer.Opaque == request.Opaque {
			return answer, nil
		}
	}
}

func (c Caller) dial(ctx context.Context, addr string) (net.Conn, error) {
	if c.TLS != nil {
		return (&tls.Dialer{Config: c.TLS}).DialContext(ctx, "tcp", addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

// signed adds what RocketMQ's access control checks: an HMAC-SHA1 over the
// values of all other fields, in the order of their names.
func (c Caller) signed(fields map[string]string) map[string]string {
	if c.Credentials.IsEmpty() {
		return fields
	}
	all := maps.Clone(fields)
	if all == nil {
		all = map[string]string{}
	}
	all["AccessKey"] = c.Credentials.AccessKey
	if c.Credentials.SecurityToken != "" {
		all["SecurityToken"] = c.Credentials.SecurityToken
	}
	mac := hmac.New(sha1.New, []byte(c.Credentials.SecretKey))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		mac.Write([]byte(all[name]))
	}
	all["Signature"] = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return all
}
