//go:build !race

package rules_test

const raceDetector = false
