//go:build race

package sandbox_test

// raceDetector makes everything several times slower.
const raceDetector = true
