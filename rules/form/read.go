package form

import (
	"errors"

	"github.com/quandohq/quando/rules"
)

// Read returns the rule with an id as a form. The text is that of a rule file, which may hold other rules, tests, calendars and constants
// besides. A file that cannot be read as YAML, or does not hold the rule, is an error; a rule that the language would refuse is not,
// as long as it is a mapping.
func Read(c *rules.Catalog, text []byte, rule string) (Form, error) {
	return Form{}, errors.New("not there")
}
