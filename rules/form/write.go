package form

import (
	"errors"

	"github.com/quandohq/quando/rules"
)

// Write returns the text of a rule file with a rule changed to what the form says. Only what differs from what Read gives of the same
// text is touched; comments stay with what they are about. The form may give the rule another id. What is written is read again and compared:
// a change that cannot be made without changing something else is an error.
func Write(c *rules.Catalog, text []byte, rule string, f Form) ([]byte, error) {
	return nil, errors.New("not there")
}

// Add returns the text of a rule file with one more rule, behind the others. The text may be empty.
func Add(c *rules.Catalog, text []byte, f Form) ([]byte, error) {
	return nil, errors.New("not there")
}

// Remove returns the text of a rule file without a rule.
func Remove(text []byte, rule string) ([]byte, error) {
	return nil, errors.New("not there")
}
