package sandbox

import (
	"go/parser"
	"go/token"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDialing proves that a name cannot lead to an address that is refused:
// what is dialed is checked, not what was written.
func TestDialing(t *testing.T) {
	receiver := httptest.NewServer(nil)
	defer receiver.Close()
	named := strings.Replace(receiver.URL, "127.0.0.1", "localhost", 1)
	for _, tt := range []struct {
		name, url string
		allow     bool
		refused   bool
	}{
		{"loopback is refused", receiver.URL, false, true},
		{"a name for loopback is refused", named, false, true},
		{"loopback when allowed", receiver.URL, true, false},
		{"cloud metadata always", "http://169.254.169.254/", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := newDeliveryClient(Options{AllowLoopback: tt.allow, DeliveryTimeout: time.Second})
			defer client.CloseIdleConnections()
			response, err := client.Get(tt.url)
			if err == nil {
				response.Body.Close()
			}
			if refused := err != nil && strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "connection refused"); refused != tt.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestImports holds the sandbox apart from the client, so that each proves the
// other.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("internal/*/*.go")
	if err != nil || len(below) == 0 {
		t.Fatalf("the files of internal packages: %d, %v", len(below), err)
	}
	for _, name := range slices.Concat(files, below) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if path, ours := strings.CutPrefix(path, "github.com/quandohq/quando"); ours && path != "/service/sandbox" && !strings.HasPrefix(path, "/service/sandbox/internal/") {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// TestOperationsAreWhole fails when an operation is listed twice or lacks a
// part.
func TestOperationsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, op := range operations() {
		if seen[op.name] || op.serve == nil || op.status == 0 || op.method() == "" || !strings.HasPrefix(op.path(), "/") {
			t.Errorf("operation %+v", op)
		}
		seen[op.name] = true
	}
}
