package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestBacktestDoc runs the examples of the documentation on a journal that a real engine has
// written.
func TestBacktestDoc(t *testing.T) {
	doc, err := filepath.Abs("../../docs/backtest.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	rules := yamlBlock.FindStringSubmatch(string(text))[1]
	cli.Now = func() time.Time { return time.Date(2026, 11, 14, 14, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { cli.Now = time.Now })
	t.Chdir(t.TempDir())
	change := strings.NewReplacer(" Reabrimos {{ next_open('office') }}.", "", "per: 12h", "per: 1d")
	writeFiles(t, map[string]string{
		"quando.yaml":       "timezone: America/Sao_Paulo\nservice: { base_url: \"http://127.0.0.1:1/v1\", api_key: \"${NOBODY_HAS_THIS}\" }\n",
		"rules/desk.yaml":   rules,
		"new/desk.yaml":     change.Replace(rules),
		"patient/desk.yaml": strings.Replace(rules, "wait: 20m", "wait: 40m", 1),
	})
	if err := recordWeekend(t.Context(), "quando.db", rules); err != nil {
		t.Fatal(err)
	}
	runDoc(t, doc, 4)
}
