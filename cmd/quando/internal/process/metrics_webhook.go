package process

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quandohq/quando/triggers/webhook/subscription"
)

// webhookMetrics collect the state of webhooks on each scrape.
type webhookMetrics struct {
	mu   sync.Mutex
	list []watchedWebhook
}

type watchedWebhook struct {
	workspace    string
	subscription *subscription.Subscription
}

var (
	webhookActive  = prometheus.NewDesc("quando_webhook_active", "1 where the webhook is registered and active, 0 where it is needed and not.", []string{"workspace"}, nil)
	webhookTrouble = prometheus.NewDesc("quando_webhook_trouble", "1 where something stands in the way of looking after the webhook.", []string{"workspace"}, nil)
	webhookMissing = prometheus.NewDesc("quando_webhook_missing_events", "Events that the rules need and that cannot be subscribed to.", []string{"workspace"}, nil)
	webhookChecked = prometheus.NewDesc("quando_webhook_checked_timestamp_seconds", "When the webhook was last looked at.", []string{"workspace"}, nil)
)

func (m *webhookMetrics) add(workspace string, s *subscription.Subscription) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, watchedWebhook{workspace, s})
}

// Describe implements prometheus.Collector.
func (m *webhookMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{webhookActive, webhookTrouble, webhookMissing, webhookChecked} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. For a webhook that was not checked yet it reports only
// problems.
func (m *webhookMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.list {
		st := w.subscription.Status()
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, w.workspace)
		}
		gauge(webhookTrouble, number(st.Problem != ""))
		if st.Checked.IsZero() {
			continue
		}
		if !st.Idle {
			gauge(webhookActive, number(st.Active))
		}
		gauge(webhookMissing, float64(len(st.Missing)))
		gauge(webhookChecked, float64(st.Checked.Unix()))
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// repairsOf returns what counts the repairs of a workspace's webhook.
func (m *metrics) repairsOf(workspace string) func(subscription.Repair) {
	for _, r := range subscription.Repairs() {
		m.repairs.WithLabelValues(workspace, string(r))
	}
	return func(r subscription.Repair) { m.repairs.WithLabelValues(workspace, string(r)).Inc() }
}
