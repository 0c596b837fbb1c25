package store_test

import (
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestQueryValidateNamesEveryFieldThatIsOutOfBounds(t *testing.T) {
	for name, c := range map[string]struct {
		query  store.Query
		fields []string
	}{
		"no limit":               {store.Query{}, []string{"Limit"}},
		"negative limit":         {store.Query{Limit: -1}, []string{"Limit"}},
		"limit over the most":    {store.Query{Limit: store.MaxScan + 1}, []string{"Limit"}},
		"unknown status":         {store.Query{Limit: 1, Status: store.StatusCorrupt + 1}, []string{"Status"}},
		"negative overdue":       {store.Query{Limit: 1, Status: store.StatusLapsed, Overdue: -1}, []string{"Overdue"}},
		"overdue without status": {store.Query{Limit: 1, Overdue: time.Hour}, []string{"Overdue"}},
		"overdue of done": {store.Query{Limit: 1, Status: store.StatusConsumed, Overdue: time.Hour},
			[]string{"Overdue"}},
		"all of it": {store.Query{Status: 200, Overdue: -1}, []string{"Status", "Overdue", "Limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, c.query.Validate(), "Query.", c.fields...)
		})
	}
}

func TestQueryValidateAcceptsTheBounds(t *testing.T) {
	for _, q := range []store.Query{
		{Limit: 1}, {Limit: store.MaxScan}, {Limit: 1, Status: store.StatusCorrupt},
		{Limit: 1, Status: store.StatusLapsed, Overdue: store.MaxDuration, Application: "billing", After: "x"},
	} {
		if err := q.Validate(); err != nil {
			t.Errorf("%+v: got %v, want it valid", q, err)
		}
	}
}
