//go:build race

package dedup_test

const raceDetector = true
