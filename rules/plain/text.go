package plain

// AppendText writes a string behind what is there.
func AppendText(b []byte, s string) []byte { return appendText(b, s) }
