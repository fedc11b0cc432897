package plain

// AppendText appends a string as JSON.
func AppendText(b []byte, s string) []byte { return appendText(b, s) }
