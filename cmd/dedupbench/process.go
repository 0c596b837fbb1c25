package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// processCPU is the processor time in seconds that a process of one of these
// names has used. It is nil for any other, and where there is no /proc.
func processCPU(pid string, names ...string) *float64 {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	name, seconds, ok := statCPU(string(stat))
	if !ok || !slices.Contains(names, name) {
		return nil
	}
	return &seconds
}

// statCPU reads the line that Linux has about a process: number, name in
// brackets, state and many numbers, those of times in hundredths of a second.
func statCPU(stat string) (name string, seconds float64, ok bool) {
	const user, system = 11, 12 // of the fields after the name
	begin, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if begin < 0 || end < begin {
		return "", 0, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= system {
		return "", 0, false
	}
	u, err1 := strconv.ParseInt(fields[user], 10, 64)
	s, err2 := strconv.ParseInt(fields[system], 10, 64)
	return stat[begin+1 : end], float64(u+s) / 100, err1 == nil && err2 == nil
}
