// Package picture draws what pages show as SVG: charts.
package picture

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
)

// An svg is a picture being drawn. The style sheet sets colours and fonts, by classes.
type svg struct{ b strings.Builder }

// escaped makes a text safe for a picture.
func escaped(s string) string { return html.EscapeString(engine.Harmless(s)) }

func (s *svg) rect(x, y, w, h float64, class, title string) {
	fmt.Fprintf(&s.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s">`, x, y, max(w, 0), max(h, 0), class)
	if title != "" {
		fmt.Fprintf(&s.b, `<title>%s</title>`, escaped(title))
	}
	s.b.WriteString(`</rect>`)
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<line x1="%.0f" y1="%.0f" x2="%.0f" y2="%.0f" class="%s"/>`, x1, y1, x2, y2, class)
}

// text writes a text, truncated to so many characters.
func (s *svg) text(x, y float64, anchor, class, text string, most int) {
	short := words.Cut(text, most)
	fmt.Fprintf(&s.b, `<text x="%.0f" y="%.0f" text-anchor="%s" class="%s">%s`, x, y, anchor, class, escaped(short))
	if short != text {
		fmt.Fprintf(&s.b, `<title>%s</title>`, escaped(text))
	}
	s.b.WriteString(`</text>`)
}

// picture returns the finished picture. Its label is for screen readers; fixed keeps its size, else
// it fills the width.
func (s *svg) picture(w, h float64, class, label string, fixed bool) template.HTML {
	size := ""
	if fixed {
		size = fmt.Sprintf(` width="%.0f" height="%.0f"`, w, h)
	}
	// Everything in it is drawn above, and every text is escaped.
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %.0f %.0f"%s class="%s" role="img" aria-label="%s">%s</svg>`,
		w, h, size, class, escaped(label), s.b.String())) //nolint:gosec // see above
}
