package rulescmd

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgress: the bar gets out of the way of what is written, and goes at the end.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := startProgress(&b, 3, time.Hour)
	p.telling()
	p.aside(func() { b.WriteString("first\n") })
	if b.String() != "first\n" {
		t.Errorf("before a second has gone by: %q", &b)
	}
	p.show()
	if !strings.Contains(b.String(), "tests, told 1 times") || !strings.Contains(b.String(), "(1/3)") {
		t.Errorf("%q", &b)
	}
	p.aside(func() {
		if text := b.String(); !strings.HasSuffix(text, "\r") {
			t.Errorf("the bar is in the way: %q", text)
		}
	})
	p.end()
	if text := b.String(); !strings.Contains(text, "(2/3)") || !strings.HasSuffix(text, "\r") {
		t.Errorf("the bar stays: %q", text)
	}
	none := newProgress(&b, 3)
	none.telling()
	none.aside(func() {})
	none.end()
}
