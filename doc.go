// Package quando is the root of the Quando module: a rules engine for customer-messaging desks.
// The packages that do the work are rules, actions, triggers, service and engine; cmd/quando wires them.
package quando
