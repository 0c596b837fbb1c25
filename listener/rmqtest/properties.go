package rmqtest

import "strings"

// properties are the properties of a message as they are stored and sent: name,
// byte 1, value, byte 2, and so on. A later property replaces an earlier one of
// the same name.
type properties string

const (
	nameEnd  = "\x01"
	valueEnd = "\x02"
)

// The properties that mean something to the broker.
const (
	propTags        = "TAGS"
	propKeys        = "KEYS"
	propUniqueKey   = "UNIQ_KEY"
	propDelay       = "DELAY"
	propWait        = "WAIT"
	propRetryTopic  = "RETRY_TOPIC"
	propRealTopic   = "REAL_TOPIC"
	propRealQueue   = "REAL_QID"
	propOriginID    = "ORIGIN_MESSAGE_ID"
	propShardingKey = "SHARDING_KEY"
	propPrepared    = "TRAN_MSG"
	propProducer    = "PGROUP"
	propTransaction = "__transactionId__"
	propChecks      = "TRANSACTION_CHECK_TIMES"
	propDeliverAt   = "TIMER_DELIVER_MS"
	propDeliverInS  = "TIMER_DELAY_SEC"
	propDeliverInMS = "TIMER_DELAY_MS"
	propTimerOut    = "TIMER_OUT_MS"
	propRegion      = "MSG_REGION"
	propTrace       = "TRACE_ON"
	propCluster     = "CLUSTER"
)

// get returns the value of name, "" if there is none.
func (p properties) get(name string) string {
	start, end := p.find(name)
	if start < 0 {
		return ""
	}
	return string(p[start+len(name)+1 : end])
}

// find returns where the last property of that name starts and where its value
// ends, -1 if there is none.
func (p properties) find(name string) (start, end int) {
	for from := string(p); ; from = from[:start] {
		start = strings.LastIndex(from, name+nameEnd)
		if start < 0 {
			return -1, -1
		}
		if start > 0 && p[start-1] != valueEnd[0] {
			continue // the end of a longer name, or a value
		}
		end = start + len(name) + 1
		if n := strings.Index(string(p[end:]), valueEnd); n >= 0 {
			return start, end + n
		}
		return start, len(p)
	}
}

// with returns p with one property set.
func (p properties) with(name, value string) properties {
	p = p.without(name)
	return p.and(properties(name + nameEnd + value + valueEnd))
}

// and returns p followed by more, which wins where both have a name.
func (p properties) and(more properties) properties {
	if p != "" && more != "" && !strings.HasSuffix(string(p), valueEnd) {
		p += valueEnd
	}
	return p + more
}

func (p properties) without(name string) properties {
	for {
		start, end := p.find(name)
		if start < 0 {
			return p
		}
		p = p[:start] + p[min(end+1, len(p)):]
	}
}
