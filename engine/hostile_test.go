package engine_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/costtest"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

// hostile returns contents for an event's data, each about n bytes long, and as costly as an
// attacker could make them.
func hostile(n int) map[string]string {
	long := func(s string) string { return strings.Repeat(s, n/len(s)) }
	several := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.ReplaceAll(format, "%", fmt.Sprint(i)))
		}
		return b.String()
	}
	text := func(s string) string {
		return `"message":{"id":"m","direction":"inbound","text":"` + s + `","conversation_id":"c","created_at":"2026-11-13T20:50:00Z"}`
	}
	return map[string]string{
		"a text": text(long("a")), "words": text(long("a ")), "accents": text(long("é")), "marks": text("a" + long("\u0301\u0323")), "jamo": text(long("\u1100\u1161\u11a8")),
		"escapes": text(long(`\u00e9`)), "halves": text(long(`\ud83d`)), "no letters": text(long("\xff")), "digits": text(long("1")),
		"a long number": `"x":0.` + long("9"), "large numbers": `"x":[` + several("1e308") + `]`, "small numbers": `"x":[` + several("5e-324") + `]`,
		"deep lists":   `"x":[` + strings.Repeat(strings.Repeat("[", 900)+strings.Repeat("]", 900)+",", n/1801) + `1]`,
		"deep objects": `"x":[` + strings.Repeat(strings.Repeat(`{"a":`, 900)+"1"+strings.Repeat("}", 900)+",", n/5402) + `1]`,
		"names":        several(`"k%":1`), "one name": several(`"":1`), "objects": `"x":[` + several(`{}`) + `]`, "labels": `"conversation":{"id":"c","label_ids":[` + several(`"%"`) + `]}`,
		"mentions": several(`"%":{"chat":{"name":"%","phone":"%"},"contact":{"name":"a%"}}`),
		"an id":    `"message":{"id":"` + long("a") + `"}`, "a lane": `"conversation":{"id":"` + long("a") + `"}`, "a phone": `"contact":{"id":"k","phone":"` + long("1") + `"}`,
	}
}

// TestHostileEvents shows that any event of 123 KiB is received, decided, followed and explained at
// a bounded cost.
func TestHostileEvents(t *testing.T) {
	if testing.Short() && !*atOnce {
		t.Skip("counts what one event after another costs")
	}
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: says("boleto") or message.text matches "(?i)(a|b)+c" or lower(message.text) contains "x" or len(event.data) > 1000
    limit: { times: 1, per: 1h }
    do: [{ log: "{{ message.text }}" }]
`)
	profile := service.DefaultProfile()
	receiver := must(webhook.New(webhook.Options{
		Workspace: "default", Secrets: func(time.Time) []service.Secret { return []service.Secret{"secret"} }, Now: d.clock.Now,
		Sink: func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			return d.engine.Accept(ctx, events...)
		},
	}))
	o := builtin.Options{Client: d.client, Directory: service.NewDirectory(d.client), Location: saoPaulo}
	explainer := explain.New(explain.Options{Journal: d.journal, Desk: must(builtin.NewDesk(o)), Rules: d.set, Catalog: builtin.Catalog(), Language: rules.Portuguese})
	delivered := 0
	for name, data := range hostile(123 << 10) {
		costtest.Within(t, name, costtest.Bound{JSON: 40}, func() {
			delivered++
			body := fmt.Sprintf(`{"id":"%d","type":"message.received","created_at":"2026-11-13T20:50:00Z","tenant_id":"t","data":{%s}}`, delivered, data)
			stamp := fmt.Sprint(d.clock.Now().Unix())
			mac := hmac.New(sha256.New, []byte("secret"))
			fmt.Fprintf(mac, "%s.%s", stamp, body)
			req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(body)))
			req.Header.Set(profile.Header("Timestamp"), stamp)
			req.Header.Set(profile.Header("Signature"), "sha256="+hex.EncodeToString(mac.Sum(nil)))
			receiver.ServeHTTP(httptest.NewRecorder(), req)
			d.rest()
			for more := true; more; {
				more = must(d.journal.Follow(t.Context()))
			}
			for _, e := range must(d.journal.ListEvents(t.Context(), journal.EventFilter{Limit: 1})) {
				must(explainer.Event(t.Context(), e))
			}
		})
	}
}
