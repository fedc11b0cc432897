package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// The chart's measures in pixels.
const (
	chartWidth = 960
	chartLabel = 540 // where bars begin
	chartLine  = 22
	chartTop   = 64
	chartBar   = chartWidth - chartLabel - 70
)

// chart draws the figures that are compared with something: a bar is how many times the other it
// is, on a scale of powers of ten.
func (r *report) chart() []byte {
	var list []figure
	low, high := 1.0, 1.0
	for _, f := range r.Figures {
		if f.Ratio > 0 {
			list = append(list, f)
			low, high = min(low, f.Ratio), max(high, f.Ratio)
		}
	}
	from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if to <= from {
		to = from + 1
	}
	at := func(ratio float64) float64 { return chartLabel + (math.Log10(ratio)-from)/(to-from)*chartBar }
	var b bytes.Buffer
	height := chartTop + chartLine*len(list) + 16
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, height, chartWidth, height)
	b.WriteString(`<style>text{fill:#333}.a{fill:#2f6f8f}.b{fill:#b0713a}.g{stroke:#ccc}.one{stroke:#333}@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}.one{stroke:#ddd}}</style>` + "\n")
	fmt.Fprintf(&b, `<text x="12" y="22" font-size="15">Against the anchor, or what stands in brackets: 1 is as much</text>`+"\n")
	fmt.Fprintf(&b, `<text x="12" y="40">Rates, where more is better, are blue; costs, where less is better, are brown.</text>`+"\n")
	for e := from; e <= to; e++ {
		class, x := "g", at(math.Pow(10, e))
		if e == 0 {
			class = "one"
		}
		fmt.Fprintf(&b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			class, x, x, chartTop-4, height-12, x, chartTop-8, ratio(math.Pow(10, e)))
	}
	for i, f := range list {
		y := chartTop + chartLine*i
		label := f.Scenario + ", " + f.Case
		if f.Against != "" {
			label += " (" + f.Against + ")"
		}
		class := "b"
		if f.rate() {
			class = "a"
		}
		x, one := at(f.Ratio), at(1)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" font-size="11">%s</text>`, chartLabel-8, y+14, html.EscapeString(label))
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="12"/><text x="%.1f" y="%d">%s</text>`+"\n",
			class, min(x, one), y+4, max(1, math.Abs(x-one)), max(x, one)+4, y+14, ratio(f.Ratio))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// rate reports whether more of a figure is better.
func (f figure) rate() bool { return f.Unit == "events/s" || f.Unit == "runs/s" }
