package actions

import (
	"github.com/quandohq/quando/rules/redact"
)

// IsSecret reports, by a header's name, whether its value must not be recorded. Such a value is
// taken from the step's arguments when the call is made.
func IsSecret(name string) bool { return redact.IsSecretHeader(name) }
