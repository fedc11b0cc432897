// Package powercut simulates power cuts of a journal in a file: its tests record all writes and
// syncs, and open every state that the disk may be in after a cut.
package powercut
