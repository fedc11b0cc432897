//go:build !cgo

package sqlite

import (
	"strings"
	"testing"
)

func TestWithoutCgo(t *testing.T) {
	_, err := Open(t.Context(), "quando.db", Options{})
	if err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
		t.Error(err)
	}
}
