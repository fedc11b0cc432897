package words

import (
	"html/template"
	"strings"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("America/Sao_Paulo", -3*60*60)
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, zone)
	for _, c := range []struct {
		at     time.Time
		en, pt string
	}{
		{time.Time{}, "–", "–"},
		{now.Add(5 * time.Minute), "17:55", "17:55"},
		{now.Add(-17 * time.Hour), "00:50", "00:50"},
		{now.Add(-18 * time.Hour), "yesterday 23:50", "ontem 23:50"},
		{now.Add(7 * time.Hour), "tomorrow 00:50", "amanhã 00:50"},
		{now.AddDate(0, 0, -2), "11 Nov 17:50", "11 nov. 17:50"},
		{now.AddDate(0, -6, 0), "13 May 17:50", "13 maio 17:50"},
		{now.AddDate(-1, 0, 0), "13 Nov 2025 17:50", "13 nov. 2025 17:50"},
		{now.AddDate(0, 2, 0), "13 Jan 2027 17:50", "13 jan. 2027 17:50"},
	} {
		for i, want := range []string{c.en, c.pt} {
			// The clock's own zone is another one: the day is that of the time which is said.
			w := Languages[i].WithClock(now.UTC)
			if got := w.Moment(c.at); got != want {
				t.Errorf("%s, %s: %q, not %q", w.Code, c.at, got, want)
			}
		}
	}
}

// TestMomentOnPage shows that a time on a page has its full form on hover, within a sentence too,
// and that only its words are left in an attribute. Texts beside it stay texts.
func TestMomentOnPage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 13, 17, 50, 7, 0, time.UTC)
	w := Languages[0].WithClock(func() time.Time { return now })
	page := template.Must(template.New("").Funcs(w.Functions()).Parse(`<p>{{moment .At}}</p><p>{{t "write.left" .Who (moment .At)}}</p><p title="{{t "write.left" .Who (moment .At)}}"></p>`))
	var b strings.Builder
	if err := page.Execute(&b, map[string]any{"At": now, "Who": "<b>1</b>"}); err != nil {
		t.Fatal(err)
	}
	said := `<time datetime="2026-11-13T17:50:07Z" title="13 Nov 2026 17:50:07 UTC">17:50</time>`
	want := "<p>" + said + "</p><p>&lt;b&gt;1&lt;/b&gt; left an unfinished version (" + said + `).</p><p title="&lt;b&gt;1&lt;/b&gt; left an unfinished version (17:50)."></p>`
	if b.String() != want {
		t.Errorf("%s\nis not\n%s", &b, want)
	}
}
