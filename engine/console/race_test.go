//go:build race

package console

// raceDetector takes processor time of its own.
const raceDetector = true
