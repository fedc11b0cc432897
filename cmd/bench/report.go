package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A report is everything that a run has found out, and where.
type report struct {
	Machine struct {
		Processor string  `json:"processor"`
		Cores     int     `json:"cores"`
		System    string  `json:"system"`
		Go        string  `json:"go"`
		SyncMS    float64 `json:"sync_ms"`      // how long its disk takes to make a page durable
		Load      float64 `json:"load_average"` // at the end
	} `json:"machine"`
	Commit   string   `json:"commit"`
	At       string   `json:"at"`
	Scale    string   `json:"scale"`
	Rounds   int      `json:"rounds"`
	Duration string   `json:"duration"`
	Figures  []figure `json:"figures"`
	Missing  []string `json:"left_out"`
	Problems []string `json:"problems"`
}

func (b *bench) report(ctx context.Context, scale string) (*report, error) {
	r := &report{At: time.Now().UTC().Format("2006-01-02"), Scale: scale, Rounds: b.scale.rounds, Duration: b.scale.duration.String(), Figures: b.figures, Missing: b.missing, Problems: b.problems}
	r.Machine.Processor, r.Machine.Cores, r.Machine.System, r.Machine.Go = processor(), runtime.NumCPU(), runtime.GOOS+"/"+runtime.GOARCH, runtime.Version()
	r.Machine.Load = loadAverage()
	took, err := syncTime(b.folder)
	if err != nil {
		return nil, err
	}
	r.Machine.SyncMS = milliseconds(took)
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil { // a copy of the sources has none
		r.Commit = strings.TrimSpace(string(out))
	}
	return r, nil
}

func (r *report) machine() string {
	return fmt.Sprintf("%s, %d cores, %s, %s; a sync of its disk takes %s ms; load average %.1f. Commit %s, %s, scale %s: medians of rounds of %s, of which there were %d.",
		r.Machine.Processor, r.Machine.Cores, r.Machine.System, r.Machine.Go, number(r.Machine.SyncMS), r.Machine.Load, r.Commit, r.At, r.Scale, r.Duration, r.Rounds)
}

// table prints the figures for a terminal.
func (r *report) table(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.machine())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tCASE\tFIGURE\tUNIT\tANCHOR\tRATIO\tAGAINST")
	for _, f := range r.Figures {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Scenario, f.Case, number(f.Value), f.Unit, optional(f.Anchor, number), optional(f.Ratio, ratio), f.against())
	}
	_ = t.Flush() // the terminal may be gone
	for _, m := range r.Missing {
		fmt.Fprintln(w, "left out:", m)
	}
}

// against says what a figure is compared with.
func (f figure) against() string {
	if f.Ratio > 0 && f.Against == "" {
		return "the anchor"
	}
	return f.Against
}

// markdown returns the figures as a table of a page.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| scenario | case | figure | compared | ratio | with |\n|---|---|---:|---:|---:|---|\n", r.machine())
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s | %s | %s |\n", f.Scenario, f.Case, number(f.Value), f.Unit, optional(f.Anchor, number), optional(f.Ratio, ratio), f.against())
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "\nLeft out: %s\n", m)
	}
	if len(r.Problems) == 0 {
		b.WriteString("\nEvery account closes.\n")
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n**Does not close:** %s\n", p)
	}
	return b.String()
}

func optional(v float64, f func(float64) string) string {
	if v == 0 {
		return ""
	}
	return f(v)
}

// number writes a figure with three digits that count.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

func ratio(v float64) string {
	if v >= 0.095 {
		return strconv.FormatFloat(v, 'f', 2, 64) + "×"
	}
	return strconv.FormatFloat(v, 'g', 2, 64) + "×"
}

func joined(list []string) string { return "  " + strings.Join(list, "\n  ") }

// The table of the page stands between these.
const (
	tableBegins = "<!-- figures begin: make bench writes them -->\n"
	tableEnds   = "<!-- figures end -->\n"
)

// write puts the figures into the folder of the documentation.
func (r *report) write(folder string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "bench.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "bench.svg"), r.chart(), 0o644); err != nil {
		return err
	}
	page := filepath.Join(folder, "benchmarks.md")
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(old, []byte(tableBegins))
	_, after, ended := bytes.Cut(rest, []byte(tableEnds))
	if !found || !ended {
		return errors.New(page + " has no place for the figures: it needs the lines " + strings.TrimSpace(tableBegins) + " and " + strings.TrimSpace(tableEnds))
	}
	return os.WriteFile(page, bytes.Join([][]byte{before, []byte(tableBegins), []byte(r.markdown()), []byte(tableEnds), after}, nil), 0o644)
}
