package console

import "github.com/quandohq/quando/engine/console/internal/session"

type (
	// Access says who may use the console. On a loopback address people are asked who they are only
	// where there is a token or a user; on any other address there must be one.
	Access = session.Access
	// A User is a person who may use the console.
	User = session.User
	// A Role is how much a person may do. Each may do what those before it may.
	Role = session.Role
)

// The roles.
const (
	Nobody   = session.Nobody
	Viewer   = session.Viewer   // looks
	Editor   = session.Editor   // writes rules
	Operator = session.Operator // stops rules and lets them go on, retries, cancels and resolves runs
)

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) { return session.ParseRole(name) }

// IsLoopback reports whether an address to listen on can only be reached from this machine.
func IsLoopback(address string) bool { return session.IsLoopback(address) }

// HashPassword returns what is written into the configuration for a password.
func HashPassword(password string) (string, error) { return session.HashPassword(password) }

// CheckHash refuses what is no hash of a password, without telling what it is.
func CheckHash(text string) error { return session.CheckHash(text) }
