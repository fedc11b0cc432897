//go:build race

package rules_test

// raceDetector makes everything several times slower.
const raceDetector = true
