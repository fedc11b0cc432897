package builtin

import "github.com/quandohq/quando/rules/plain"

// A member of an object. Those of one object stand in the order of their names, so that they can be written as they are.
type member struct {
	name  string
	value any
}

// object returns the object of its members.
func object(members []member) map[string]any {
	out := make(map[string]any, len(members))
	for _, m := range members {
		out[m.name] = m.value
	}
	return out
}

// appendMembers writes an object as plain.Append does, without looking for the order of its members.
func appendMembers(b []byte, members []member) (_ []byte, err error) {
	for i, m := range members {
		if b = append(b, ','); i == 0 {
			b[len(b)-1] = '{'
		}
		b = append(plain.AppendText(b, m.name), ':')
		if b, err = plain.Append(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
