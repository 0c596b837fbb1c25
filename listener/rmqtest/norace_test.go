//go:build !race

package rmqtest_test

const raceDetector = false
