package process

import (
	"testing"
)

func TestCheckSandbox(t *testing.T) {
	for _, tt := range []struct {
		control, base string
		ok            bool
	}{
		{"http://127.0.0.1:9090/control", "http://127.0.0.1:9090/v1", true},
		{"http://127.0.0.1:9090/control", "https://api.example.com/v1", false},
		{"http://192.0.2.1:9090/control", "http://192.0.2.1:9090/v1", false},
		{"https://api.example.com/control", "https://api.example.com/v1", false},
		{"127.0.0.1:9090", "http://127.0.0.1:9090/v1", false},
	} {
		if err := checkSandbox(tt.control, tt.base); (err == nil) != tt.ok {
			t.Errorf("%s for %s: %v", tt.control, tt.base, err)
		}
	}
}
