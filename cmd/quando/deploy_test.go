package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// documents reads the YAML documents of a file of deploy/.
func documents(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, doc)
	}
}

// part returns what is at a path of keys and positions.
func part(v any, path ...any) any {
	for _, key := range path {
		switch k := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			list, _ := v.([]any)
			if k >= len(list) {
				return nil
			}
			v = list[k]
		}
	}
	return v
}

// TestDeploy reads the manifests: they start two engines with a configuration that quando takes,
// the same one in both, and which find their database.
func TestDeploy(t *testing.T) {
	for _, name := range []string{"SERVICE_URL", "SERVICE_API_KEY", "SERVICE_WEBHOOK_SECRET", "QUANDO_CONSOLE_TOKEN"} {
		t.Setenv(name, "https://desk.example.com/v1")
	}
	kinds := map[string]map[string]any{}
	for _, doc := range documents(t, "kubernetes.yaml") {
		kinds[doc["kind"].(string)+" "+part(doc, "metadata", "name").(string)] = doc
	}
	deployment := kinds["Deployment quando"]
	if n := part(deployment, "spec", "replicas"); n != 2 {
		t.Errorf("%v engines", n)
	}
	if kinds["StatefulSet postgres"] == nil || kinds["Service postgres"] == nil || kinds["Service quando"] == nil {
		t.Errorf("something is missing: %v", kinds)
	}
	inMap, _ := part(kinds["ConfigMap quando"], "data", "quando.yaml").(string)
	file := filepath.Join("..", "..", "deploy", "quando.yaml")
	one, err := config.Load(file, false)
	if err != nil {
		t.Fatal(err)
	}
	two, err := config.Load(clitest.WriteConfig(t, inMap), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*config.Config{one, two} {
		if diff := cmp.Diff([]any{"postgres://quando@postgres/quando", ":8080", ":8081", "/etc/quando/rules", 10.0}, []any{c.Journal, c.Listen, c.Console.Listen, c.Rules, c.Service.Rate}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if len(c.Service.Webhook.Secrets) != 1 || c.Console.Token == "" {
			t.Error("a secret is missing")
		}
	}

	compose := documents(t, "compose.yaml")[0]
	for _, engine := range []string{"engine-1", "engine-2"} {
		if v := part(compose, "services", engine, "environment", "PGPASSWORD"); v == nil {
			t.Errorf("%s has no password for the database", engine)
		}
		if v := part(compose, "services", engine, "volumes", 0); v != "./quando.yaml:/etc/quando/quando.yaml:ro" {
			t.Errorf("%s has the configuration from %v", engine, v)
		}
	}
	for what, v := range map[string]any{
		"the pod": part(deployment, "spec", "template", "spec", "containers", 0, "resources", "limits", "memory"), "the container": part(compose, "services", "engine-1", "mem_limit"),
	} {
		if text, _ := v.(string); !strings.HasPrefix(text, "512") {
			t.Errorf("the memory of %s is limited to %v", what, v)
		}
	}
	if part(compose, "services", "postgres", "image") != part(kinds["StatefulSet postgres"], "spec", "template", "spec", "containers", 0, "image") {
		t.Error("the databases are not of one version")
	}
}
