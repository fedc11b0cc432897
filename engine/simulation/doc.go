// Package simulation makes up desks by a seed: rules, customers, a team and everything that can go
// wrong, on simulated time and the real engine, and judges what the engine did by things that share
// no code with it.
package simulation
