package config

import (
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// Sweep is how expired records are removed from a database, which does not do
// that by itself. Its fields are those of [sweep.Options].
type Sweep struct {
	Enabled bool          `yaml:"enabled"`
	Every   time.Duration `yaml:"every"` // the pause when nothing more has expired
	Batch   int           `yaml:"batch"` // records at once
	Share   float64       `yaml:"share"` // of the time, at most
}

func (s Sweep) check(r *report) {
	const path = "store.sweep"
	if s.Every < time.Millisecond || s.Every > sweep.MaxEvery {
		r.wrong(path+".every", short(s.Every), "want 1ms to %s", short(sweep.MaxEvery))
	}
	r.between(path+".batch", s.Batch, 1, sweep.MaxBatch)
	if !(s.Share >= sweep.MinShare && s.Share <= 1) { // refuses NaN, too
		r.wrong(path+".share", fmt.Sprint(s.Share), "want %v to 1", sweep.MinShare)
	}
}
