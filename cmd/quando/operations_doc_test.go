package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// docs/operations.md has an entry for every alert and every metric, and its examples are
// configurations.
func TestOperationsDoc(t *testing.T) {
	raw, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	_, incidents, _ := strings.Cut(text, "\n## Incidents\n")
	var documented, known []string
	for _, m := range regexp.MustCompile("`(Quando[A-Za-z]+)`").FindAllStringSubmatch(incidents, -1) {
		documented = append(documented, m[1])
	}
	for _, a := range alerts(t) {
		known = append(known, a.Alert)
	}
	slices.Sort(documented)
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("incidents: %v\nalerts: %v", documented, known)
	}
	documented, known = nil, nil
	for _, m := range regexp.MustCompile("(?m)^\\| `(quando_[a-z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		documented = append(documented, m[1])
	}
	for name := range maps.Keys(scraped(t)) {
		if strings.HasPrefix(name, "quando_") && !strings.HasSuffix(name, "_count") && !strings.HasSuffix(name, "_sum") {
			known = append(known, strings.TrimSuffix(name, "_bucket"))
		}
	}
	slices.Sort(documented)
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("documented: %v\nin the metrics: %v", documented, known)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	for _, m := range blocks {
		if _, err := config.Load(clitest.WriteConfig(t, m[1]), false); err != nil {
			t.Errorf("%s\n%v", m[1], err)
		}
	}
	if len(blocks) < 3 {
		t.Errorf("%d examples", len(blocks))
	}
}
