package console

import "github.com/quandohq/quando/engine/console/internal/session"

type (
	// Access says who may use the console. On a loopback address a login is required only if there is
	// a token or a user; on any other address there must be one.
	Access = session.Access
	// A User is a user of the console.
	User = session.User
	// A Role is a set of permissions. Each includes those before it.
	Role = session.Role
)

// The roles.
const (
	Nobody   = session.Nobody
	Viewer   = session.Viewer   // reads
	Editor   = session.Editor   // writes rules
	Operator = session.Operator // places and lifts holds, retries, cancels and resolves runs
)

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) { return session.ParseRole(name) }

// IsLoopback reports whether an address to listen on can only be reached from this machine.
func IsLoopback(address string) bool { return session.IsLoopback(address) }

// HashPassword returns what is written into the configuration for a password.
func HashPassword(password string) (string, error) { return session.HashPassword(password) }

// CheckHash refuses what is no hash of a password, without telling what it is.
func CheckHash(text string) error { return session.CheckHash(text) }
