package actions

import "strings"

// IsSecret reports, by a header's name, whether its value must not be recorded: it is taken from the step's arguments when the call is made.
func IsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "cookie", "key", "token", "secret", "password", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
