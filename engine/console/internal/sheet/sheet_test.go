package sheet

import (
	"strings"
	"testing"
)

// TestRow shows that what a customer wrote is a text in a spreadsheet, whatever it begins with.
func TestRow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w, err := NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Row("17:55", "=HYPERLINK(\"http://x\")", "+5511", "-1", "@x", "\t=1", "a = b", "two\nlines, \"quoted\"", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "\ufeff17:55,\"'=HYPERLINK(\"\"http://x\"\")\",'+5511,'-1,'@x,'\t=1,a = b,\"two\nlines, \"\"quoted\"\"\",\n"
	if b.String() != want {
		t.Errorf("%q is not %q", b.String(), want)
	}
}
