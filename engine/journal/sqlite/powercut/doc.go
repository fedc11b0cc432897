// Package powercut cuts the power of a journal in a file: its tests record what reaches the disk,
// and open what a disk may hold after a cut.
package powercut
