package storetest

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

// parts are a flaky store and its abilities. has tells which of Renewer, Parker
// and Fencer the store inside has; the others are empty.
type parts struct {
	*flaky
	renew flakyRenewer
	park  flakyParker
	fence flakyFencer
	batch flakyBatcher
	has   [3]bool
}

// store returns the parts as one store that has these abilities and no other.
// Go can only spell that out.
func (y parts) store(batches bool) store.Store {
	if batches {
		return y.withBatches()
	}
	return y.withoutBatches()
}

func (y parts) withoutBatches() store.Store {
	switch y.has {
	case [3]bool{true, true, true}:
		return struct {
			*flaky
			flakyRenewer
			flakyParker
			flakyFencer
		}{y.flaky, y.renew, y.park, y.fence}
	case [3]bool{true, true, false}:
		return struct {
			*flaky
			flakyRenewer
			flakyParker
		}{y.flaky, y.renew, y.park}
	case [3]bool{true, false, true}:
		return struct {
			*flaky
			flakyRenewer
			flakyFencer
		}{y.flaky, y.renew, y.fence}
	case [3]bool{false, true, true}:
		return struct {
			*flaky
			flakyParker
			flakyFencer
		}{y.flaky, y.park, y.fence}
	case [3]bool{true, false, false}:
		return struct {
			*flaky
			flakyRenewer
		}{y.flaky, y.renew}
	case [3]bool{false, true, false}:
		return struct {
			*flaky
			flakyParker
		}{y.flaky, y.park}
	case [3]bool{false, false, true}:
		return struct {
			*flaky
			flakyFencer
		}{y.flaky, y.fence}
	}
	return y.flaky
}

func (y parts) withBatches() store.Store {
	switch y.has {
	case [3]bool{true, true, true}:
		return struct {
			*flaky
			flakyBatcher
			flakyRenewer
			flakyParker
			flakyFencer
		}{y.flaky, y.batch, y.renew, y.park, y.fence}
	case [3]bool{true, true, false}:
		return struct {
			*flaky
			flakyBatcher
			flakyRenewer
			flakyParker
		}{y.flaky, y.batch, y.renew, y.park}
	case [3]bool{true, false, true}:
		return struct {
			*flaky
			flakyBatcher
			flakyRenewer
			flakyFencer
		}{y.flaky, y.batch, y.renew, y.fence}
	case [3]bool{false, true, true}:
		return struct {
			*flaky
			flakyBatcher
			flakyParker
			flakyFencer
		}{y.flaky, y.batch, y.park, y.fence}
	case [3]bool{true, false, false}:
		return struct {
			*flaky
			flakyBatcher
			flakyRenewer
		}{y.flaky, y.batch, y.renew}
	case [3]bool{false, true, false}:
		return struct {
			*flaky
			flakyBatcher
			flakyParker
		}{y.flaky, y.batch, y.park}
	case [3]bool{false, false, true}:
		return struct {
			*flaky
			flakyBatcher
			flakyFencer
		}{y.flaky, y.batch, y.fence}
	}
	return struct {
		*flaky
		flakyBatcher
	}{y.flaky, y.batch}
}
