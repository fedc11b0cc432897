//go:build race

package main

// raceDetector takes memory and time of its own.
const raceDetector = true
