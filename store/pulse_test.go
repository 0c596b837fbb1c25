package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestAPulseNamesEveryFieldThatIsMissing(t *testing.T) {
	t.Parallel()
	err := store.Pulse{Number: -1}.Validate()
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
	for _, field := range []string{"Application", "Node", "Number is -1"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want it to name %s", err, field)
		}
	}
	if err := (store.Pulse{Application: "billing", Node: store.NewToken(), Number: 1}).Validate(); err != nil {
		t.Errorf("got %v for a pulse that is complete", err)
	}
}
