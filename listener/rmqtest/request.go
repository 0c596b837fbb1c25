package rmqtest

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// request is one request with what is needed to answer it.
type request struct {
	*remoting.Command
	conn *conn
	err  error // why a field could not be read
}

// text reads a field, "" if it is missing.
func (r *request) text(name string) string { return r.ExtFields[name] }

// number reads a field that must be there.
func (r *request) number(name string) int64 {
	n, err := strconv.ParseInt(r.ExtFields[name], 10, 64)
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("field %s is %q, want a number", name, r.ExtFields[name]))
	}
	return n
}

// numberOr reads a field that may be missing.
func (r *request) numberOr(name string, missing int64) int64 {
	if r.ExtFields[name] == "" {
		return missing
	}
	return r.number(name)
}

func (r *request) flag(name string) bool { return r.ExtFields[name] == "true" }

// The answers in use, by their codes in the remoting protocol.
const (
	success              = 0
	systemError          = 1
	notSupported         = 3
	messageIllegal       = 13
	noPermission         = 16
	topicNotExist        = 17
	pullNotFound         = 19
	pullRetryImmediately = 20
	pullOffsetMoved      = 21
	queryNotFound        = 22
	subscriptionNotExist = 24
	invalidParameter     = 29
)

func succeed(fields map[string]string, body []byte) *remoting.Command {
	return &remoting.Command{Code: success, ExtFields: fields, Body: body}
}

func refuse(code int, format string, args ...any) *remoting.Command {
	return &remoting.Command{Code: code, Remark: fmt.Sprintf(format, args...)}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
