// Package engine records events, decides which rules match them, and carries out the rules' steps,
// so that a stop at any point loses nothing and does nothing twice.
package engine
