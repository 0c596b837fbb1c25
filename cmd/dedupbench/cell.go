package main

import (
	"fmt"
	"time"
)

// cell is one combination of settings.
type cell struct {
	Batch     int           `json:"batch"`     // WithConsumeMessageBatchMaxSize
	Callbacks int           `json:"callbacks"` // WithConsumeGoroutineNums
	Copies    int           `json:"copies_percent"`
	Work      time.Duration `json:"work_ns"`
	Rate      int           `json:"offered_per_second"` // 0: as fast as they come
}

// cells is the whole matrix.
func (s *settings) cells() []cell {
	var all []cell
	for _, work := range s.Works {
		rate := s.Rate
		if work == 0 {
			rate = 0
		}
		for _, copies := range s.Copies {
			for _, batch := range s.Batches {
				for _, callbacks := range s.Callbacks {
					all = append(all, cell{batch, callbacks, copies, work, rate})
				}
			}
		}
	}
	return all
}

func (c cell) String() string {
	return fmt.Sprintf("batch %d, %d callbacks, %d %% copies, %s", c.Batch, c.Callbacks, c.Copies, c.work())
}

// work says what a callback does.
func (c cell) work() string {
	switch {
	case c.Work == 0:
		return "no-op"
	case c.Rate == 0:
		return c.Work.String()
	}
	return fmt.Sprintf("%v at %s/s", c.Work, number(float64(c.Rate)))
}

// file is the cell as a part of a file name.
func (c cell) file() string {
	return fmt.Sprintf("batch%d-callbacks%d-dup%d-work%v", c.Batch, c.Callbacks, c.Copies, c.Work)
}
