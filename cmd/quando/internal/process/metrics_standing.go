package process

import (
	"context"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
)

// stateCollector collects the state on each scrape.
type stateCollector struct {
	*metrics
	journal storage.Journal
	file    string
}

var (
	runsNow       = prometheus.NewDesc("quando_runs", "Unfinished runs by their state.", []string{"state"}, nil)
	heldNow       = prometheus.NewDesc("quando_held", "1 for everything that is stopped; without a rule the whole workspace is, without a workspace everything.", []string{"workspace", "rule", "kind"}, nil)
	lagNow        = prometheus.NewDesc("quando_lag_seconds", "How long the lane that is due for the longest has been so, and nobody works on it. Workspaces that are stopped are left out.", nil, nil)
	journalBytes  = prometheus.NewDesc("quando_journal_bytes", "Size of the journal.", nil, nil)
	journalFree   = prometheus.NewDesc("quando_journal_free_bytes", "Room that is left on the disk of the journal's file.", nil, nil)
	journalEvents = prometheus.NewDesc("quando_journal_events", "Events that the journal holds.", nil, nil)
	journalOldest = prometheus.NewDesc("quando_journal_oldest_timestamp_seconds", "When the oldest event that the journal holds was received.", nil, nil)
	readyNow      = prometheus.NewDesc("quando_ready", "1 while events can be recorded.", nil, nil)
	tlsExpires    = prometheus.NewDesc("quando_tls_expires_timestamp_seconds", "When the first of the certificates in use expires.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsNow, heldNow, lagNow, journalBytes, journalFree, journalEvents, journalOldest, readyNow, tlsExpires} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *stateCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	fail := func(d *prometheus.Desc, err error) { ch <- prometheus.NewInvalidMetric(d, err) }
	if counts, err := s.journal.CountRuns(ctx); err != nil {
		fail(runsNow, err)
	} else {
		for _, state := range storage.Unfinished {
			tell(runsNow, float64(counts[state]), string(state))
		}
	}
	if holds, err := s.journal.Holds(ctx); err != nil {
		fail(heldNow, err)
	} else {
		stopped := map[journal.Hold]int{} // a rule can be stopped in many conversations
		for _, h := range holds {
			stopped[journal.Hold{Workspace: h.Workspace, Rule: h.Rule, Kind: h.Kind}]++
		}
		for h, n := range stopped {
			tell(heldNow, float64(n), h.Workspace, h.Rule, string(h.Kind))
		}
		if lag, err := s.lagOf(ctx, holds); err != nil {
			fail(lagNow, err)
		} else {
			tell(lagNow, lag.Seconds())
		}
	}
	if extent, err := s.journal.Extent(ctx); err != nil {
		fail(journalBytes, err)
	} else {
		tell(journalBytes, float64(extent.Bytes))
		tell(journalEvents, float64(extent.Events))
		if !extent.Oldest.IsZero() {
			tell(journalOldest, float64(extent.Oldest.Unix()))
		}
	}
	if free, err := storage.FreeSpace(filepath.Dir(s.file)); err == nil && !storage.IsDatabase(s.file) {
		tell(journalFree, float64(free))
	}
	if s.ready != nil {
		able := 0.0
		if s.ready(ctx) == nil {
			able = 1
		}
		tell(readyNow, able)
	}
	if s.expires != nil {
		if at := s.expires(); !at.IsZero() {
			tell(tlsExpires, float64(at.Unix()))
		}
	}
}

// lagOf is how long something has been due. Held runs do not count: they have a metric of their
// own.
func (s *stateCollector) lagOf(ctx context.Context, holds []journal.Hold) (time.Duration, error) {
	var stopped []string
	for _, h := range holds {
		switch {
		case h.Rule != "":
		case h.Workspace == "":
			return 0, nil
		default:
			stopped = append(stopped, h.Workspace)
		}
	}
	due, err := s.journal.Due(ctx, stopped)
	if err != nil || due.IsZero() {
		return 0, err
	}
	return max(0, s.now().Sub(due)), nil
}
