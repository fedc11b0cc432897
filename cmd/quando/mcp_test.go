package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

const (
	editorToken = "0123456789abcdef0123456789abcdef"
	viewerToken = "fedcba9876543210fedcba9876543210"
)

// TestRunAnswersAssistants shows that a running engine answers an assistant that has a token, and
// nobody else, and that what it proposes is a draft in the rules of the engine.
func TestRunAnswersAssistants(t *testing.T) {
	t.Setenv("EDITOR_TOKEN", editorToken)
	t.Setenv("VIEWER_TOKEN", viewerToken)
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - id: first\n    when: manual\n    do: [{ log: one }]\n")
	o.start(o.service() + "\nmcp: { tokens: { claude: { role: editor, token: \"${EDITOR_TOKEN}\" }, reader: { role: viewer, token: \"${VIEWER_TOKEN}\" } } }")
	connect := func(token string) (*mcp.ClientSession, error) {
		return mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: o.console + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true}, nil)
	}
	if status, text := o.asks("POST", o.console+"/mcp", map[string]string{"Content-Type": "application/json"}, "{}"); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, text)
	}
	if _, err := connect("wrong"); err == nil {
		t.Error("a wrong token comes in")
	}
	if status, _ := o.asks("POST", o.console+"/mcp", map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + editorToken}, strings.Repeat("x", 10<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("10 MB: %d", status)
	}
	session, err := connect(editorToken)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	text := "rules:\n  - id: second\n    when: message.received\n    limit: { times: 1, per: 12h }\n    do: [{ send_message: hello }]\n"
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", Arguments: map[string]any{"rule": "second", "text": text, "why": "a greeting"}})
	if err != nil || r.IsError {
		t.Fatal(r, err)
	}
	if saved, err := os.ReadFile(filepath.Join(o.folder, "rules", "second.yaml")); err != nil || !strings.Contains(string(saved), "stage: draft") {
		t.Errorf("%s %v", saved, err)
	}
	if _, page := o.asks("GET", o.console+"/proposals", nil, ""); !strings.Contains(page, "assistant claude") {
		t.Error(page)
	}
	if _, page := o.asks("GET", o.console+"/audit", nil, ""); !strings.Contains(page, "proposed a rule") {
		t.Error(page)
	}
	viewer, err := connect(viewerToken)
	if err != nil {
		t.Fatal(err)
	}
	defer viewer.Close()
	r, err = viewer.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", Arguments: map[string]any{"rule": "third", "text": text, "why": "x"}})
	if err != nil || !r.IsError {
		t.Errorf("a viewer proposes: %v %v", r, err)
	}
}

// TestMCP shows that quando mcp works on a project in which no engine has run yet, with the rights
// of an editor, and ends when the assistant leaves.
func TestMCP(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "quando.yaml"), []byte("service: { base_url: \"${NOT_SET}\", api_key: \"${NOT_SET}\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), []string{"mcp", "--config", filepath.Join(folder, "quando.yaml")}, fromClient, toClient, io.Discard)
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := "rules:\n  - id: first\n    when: message.received\n    limit: { times: 1, per: 12h }\n    do: [{ send_message: hello }]\n"
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", Arguments: map[string]any{"rule": "first", "text": text, "why": "a greeting", "stage": "shadow"}})
	if err != nil || r.IsError {
		t.Fatal(r, err)
	}
	if saved, err := os.ReadFile(filepath.Join(folder, "rules", "first.yaml")); err != nil || !strings.Contains(string(saved), "stage: shadow") {
		t.Errorf("%s %v", saved, err)
	}
	_ = session.Close()
	_ = toServer.Close()
	if code := <-done; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}
