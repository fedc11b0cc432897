package console

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var (
	// othersText is what is not the console's to translate: what people, rules and the service wrote,
	// and the names of rules.
	othersText = regexp.MustCompile(`(?s)<(code|pre|bdi|q)\b.*?</(code|pre|bdi|q)>|<a href="/rules/[^>]*>.*?</a>|<h1>.*?</h1>|<title>.*?</title>|<option.*?</option>|<svg.*?</svg>|<dd\b.*?</dd>|<p>Everybody gets.*?</p>|<span class="(chip|bubble).*?</span>`)
	anyTag     = regexp.MustCompile(`(?s)<[^>]*>`)
	inQuotes   = regexp.MustCompile(`"[^"]*"|“[^”]*”|› \S+`)
	english    = regexp.MustCompile(`(?i)(?:^|[^\pL_])(?:the|was|were|is|are|and|of|it|its|not|would|have|which|with|at|there)(?:[^\pL_]|$)`)
)

// explains adds an explainer to a desk, as in quando run.
func (d *desk) explains() {
	d.t.Helper()
	offline := builtin.NewOffline(builtin.OfflineOptions{Own: func(ctx context.Context, m service.Message) (bool, error) {
		return d.engine.Owns(ctx, "default", m.ID, m.ClientID)
	}})
	d.options.Explain = func(ctx context.Context, e *journal.Event, l rules.Language) ([]Explanation, error) {
		told, err := explain.New(explain.Options{Journal: d.journal, Desk: offline, Rules: d.set, Catalog: builtin.Catalog(), Location: saoPaulo, Language: l}).Event(ctx, e)
		if err != nil {
			return nil, err
		}
		var list []Explanation
		for _, r := range told.Rules {
			x := Explanation{Rule: r.Rule, Outcome: r.Outcome, Words: r.Words, Error: r.Error, Would: r.Basis == explain.Would}
			for _, c := range r.Clauses {
				x.Clauses = append(x.Clauses, Clause{Text: c.Clause, Result: strings.ReplaceAll(string(c.Result), " ", "_"), Values: c.Values, Words: c.Words, Part: c.Part})
			}
			if r.Outcome != explain.NotForIt {
				list = append(list, x)
			}
		}
		return list, nil
	}
	d.console = must(New(d.options))
	d.t.Cleanup(d.console.Close)
}

// TestPortuguese shows that pages in Portuguese are so wholly, but for what people, rules and the
// service wrote.
func TestPortuguese(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	d := newPlayground(t)
	d.story()
	d.explains()
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"watch"}, "reason": {"x"}})
	for _, path := range append(d.everyPage(), "/simulator", "/nothing", "/runs?state=x") {
		w := d.ask("GET", path, nil, func(r *http.Request) { r.Header.Set("Accept-Language", "pt-BR") })
		text := inQuotes.ReplaceAllString(html.UnescapeString(anyTag.ReplaceAllString(othersText.ReplaceAllString(w.Body.String(), " "), " ")), " ")
		if at := english.FindStringIndex(text); at != nil {
			t.Errorf("%s: …%s", path, strings.Join(strings.Fields(text[max(0, at[0]-120):min(len(text), at[1]+120)]), " "))
		}
	}
	event := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))[0]
	text := d.page("/events/"+itoa(event.Seq), func(r *http.Request) { r.Header.Set("Accept-Language", "pt-BR") })
	if !strings.Contains(text, "e a regra pede xyzzy") {
		t.Error("a condition is not told in words")
	}
}
