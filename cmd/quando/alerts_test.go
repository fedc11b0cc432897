package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/programtest"
)

// promtool runs the checker of Prometheus.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program := filepath.Join("..", "..", "bin", "promtool")
	if _, err := os.Stat(program); err != nil {
		programtest.Absent(t, "promtool")
	}
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", args, err, out)
	}
}

// An alert is one of deploy/prometheus-alerts.yaml.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (list []alert) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	text, err := os.ReadFile("../../deploy/prometheus-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	return list
}

// dashboard returns what the panels of deploy/grafana-dashboard.json ask for, by their titles.
func dashboard(t *testing.T) map[string][]string {
	t.Helper()
	var file struct {
		Panels []struct {
			Type, Title, Description string
			Targets                  []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	text, err := os.ReadFile("../../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	asks := make(map[string][]string)
	for _, p := range file.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("the panel %q says nothing", p.Title)
		}
		for _, target := range p.Targets {
			asks[p.Title] = append(asks[p.Title], target.Expr)
		}
	}
	return asks
}

var (
	selector = regexp.MustCompile(`\b((?:quando|process|go)_[a-z_]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	sample   = regexp.MustCompile(`^([a-z_]+)(\{[^}]*\})? `)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// TestAlerts checks the alerts and the dashboard as Prometheus reads them, and that everything that
// they ask for is in the metrics of an engine at work.
func TestAlerts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("works in another program, one thing after another")
	}
	promtool(t, "check", "rules", "../../deploy/prometheus-alerts.yaml")
	promtool(t, "test", "rules", "../../deploy/prometheus-alerts.test.yaml", "../../deploy/prometheus-alerts-week.test.yaml")
	expressions := make(map[string][]string)
	for _, a := range alerts(t) {
		expressions[a.Alert] = []string{a.Expr}
	}
	var asked strings.Builder
	fmt.Fprintln(&asked, "groups: [{ name: dashboard, rules: [")
	for title, list := range dashboard(t) {
		expressions[title] = list
		for i, expr := range list {
			expr = strings.NewReplacer("$__rate_interval", "5m", "$workspace", ".*").Replace(expr)
			fmt.Fprintf(&asked, "{ record: p%d%d, expr: %q },\n", len(expressions), i, expr)
		}
	}
	fmt.Fprintln(&asked, "]}]")
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	clitest.WriteFile(t, file, asked.String())
	promtool(t, "check", "rules", file)

	labels := scraped(t)
	for where, list := range expressions {
		for _, expr := range list {
			for _, m := range selector.FindAllStringSubmatch(expr, -1) {
				if labels[m[1]] == nil {
					t.Errorf("%s asks for %s, which is not in the metrics", where, m[1])
					continue
				}
				for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
					if l[1] != "job" && !slices.Contains(labels[m[1]], l[1]) {
						t.Errorf("%s asks for %s by %s, which it does not have", where, m[1], l[1])
					}
				}
				for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
					for l := range strings.SplitSeq(g[1], ",") {
						if l = strings.TrimSpace(l); !slices.Contains(labels[m[1]], l) {
							t.Errorf("%s sums up %s by %s, which it does not have", where, m[1], l)
						}
					}
				}
			}
		}
	}
}

// scraped returns the labels of every metric of an engine that has received, run, stopped something
// and is encrypted.
func scraped(t *testing.T) map[string][]string {
	t.Helper()
	o := newOffice(t)
	cert, key := newCertificate(t, "it")
	o.write("cert.pem", string(cert))
	o.write("key.pem", string(key))
	o.write("rules/r.yaml", "rules:\n  - { id: greet, when: message.received, do: [{ send_message: hello }] }\n")
	j, err := storage.Open(t.Context(), filepath.Join(o.folder, "quando.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Hold(t.Context(), journal.Hold{Workspace: "default", Rule: "other", Kind: journal.HoldPerson, Since: time.Now()}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	o.start(o.service() + "\ntls: { cert: cert.pem, key: key.pem }")
	o.writes("+5511988887777", "hello")
	o.shows(`quando_runs_total{rule="greet",stage="live",state="done",workspace="default"} 1`)
	_, text := o.asks("GET", o.console+"/metrics", nil, "")
	labels := make(map[string][]string)
	for line := range strings.Lines(text) {
		if m := sample.FindStringSubmatch(line); m != nil {
			labels[m[1]] = append(labels[m[1]], "instance")
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				labels[m[1]] = append(labels[m[1]], l[1])
			}
		}
	}
	return labels
}
