package process

import (
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// TestEncryptsConsole shows that the console is encrypted where other machines reach it, unless
// that is switched off.
func TestEncryptsConsole(t *testing.T) {
	c := config.Default()
	for listen, want := range map[string]bool{":8081": true, "0.0.0.0:8081": true, "127.0.0.1:8081": false, "localhost:8081": false} {
		if c.Console.Listen = listen; encryptsConsole(c) != want {
			t.Errorf("%s: %v", listen, !want)
		}
	}
	off := false
	if c.Console.Listen, c.Console.TLS = ":8081", &off; encryptsConsole(c) {
		t.Error("it was switched off")
	}
}
