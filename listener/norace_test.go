//go:build !race

package listener_test

const raceDetector = false
