package sandbox_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/service/sandbox"
)

var (
	controlRow   = regexp.MustCompile("(?m)^\\| `([A-Z]+) (/[^`]*)` \\| (?:`([^`]*)`)? ?\\|")
	controlRoute = regexp.MustCompile(`mux\.HandleFunc\("([A-Z]+ /[^"]*)"`)
)

// TestControlDoc sends the bodies of docs/sandbox.md in their order. The page has every call.
func TestControlDoc(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("control.go")
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.New(sandbox.Options{Seed: 1, KanbanEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var told, known []string
	for _, row := range controlRow.FindAllStringSubmatch(string(page), -1) {
		told = append(told, row[1]+" "+row[2])
		if strings.Contains(row[2], "{") {
			continue // its id is made up
		}
		if code, answer := controlCall(t.Context(), t, row[1], address.ControlURL+row[2], row[3]); code != http.StatusOK && code != http.StatusCreated && code != http.StatusNoContent {
			t.Errorf("%s %s %s: %d %s", row[1], row[2], row[3], code, answer)
		}
	}
	for _, m := range controlRoute.FindAllStringSubmatch(string(source), -1) {
		known = append(known, m[1])
	}
	slices.Sort(told)
	slices.Sort(known)
	if !slices.Equal(told, known) {
		t.Errorf("the page has %v\nthere are %v", told, known)
	}
}

func controlCall(ctx context.Context, t *testing.T, method, url, body string) (code int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
