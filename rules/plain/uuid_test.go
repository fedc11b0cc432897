package plain

import "testing"

func TestFoldUUID(t *testing.T) {
	for id, want := range map[string]string{
		"0192F3A4-0000-7000-8000-00000000000A": "0192f3a4-0000-7000-8000-00000000000a",
		"0192f3a4-0000-7000-8000-00000000000a": "0192f3a4-0000-7000-8000-00000000000a",
		"0192F3A4-0000-7000-8000-00000000000G": "0192F3A4-0000-7000-8000-00000000000G",
		"0192F3A4X0000-7000-8000-00000000000A": "0192F3A4X0000-7000-8000-00000000000A",
		"wamid.ABC":                            "wamid.ABC",
		"":                                     "",
	} {
		if got := FoldUUID(id); got != want {
			t.Errorf("%q became %q", id, got)
		}
	}
}
