package main

import (
	"fmt"
	"io"
	"strings"
)

// tableWidth is how many columns of a terminal a table takes at most.
const tableWidth = 100

// A table is rows under a head, each with lines of its own below it. It measures what a terminal shows, which text/tabwriter does not:
// colours take no room there, and some characters take two columns.
type table struct {
	head []string
	rows []tableRow
}

type tableRow struct {
	cells   []cell
	details []string
}

// A cell is a text with the colour that it is painted in.
type cell struct {
	text  string
	paint func(string) string // nil is plain
}

// add appends a row. Texts are made harmless, and so are the details, which are cut to the table's width.
func (t *table) add(cells []cell, details ...string) {
	for i := range cells {
		cells[i].text = harmless(cells[i].text)
	}
	row := tableRow{cells: cells}
	for _, d := range details {
		if d != "" {
			row.details = append(row.details, cut(harmless(d), tableWidth-detailIndent))
		}
	}
	t.rows = append(t.rows, row)
}

const detailIndent = 4

func (t *table) write(w io.Writer, c palette) {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = width(h)
		for _, row := range t.rows {
			widths[i] = max(widths[i], width(row.cells[i].text))
		}
	}
	head := make([]cell, len(t.head))
	for i, h := range t.head {
		head[i] = cell{h, c.dim}
	}
	writeCells(w, head, widths)
	for _, row := range t.rows {
		writeCells(w, row.cells, widths)
		for _, d := range row.details {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", detailIndent), c.dim(d))
		}
	}
}

func writeCells(w io.Writer, cells []cell, widths []int) {
	var b strings.Builder
	for i, one := range cells {
		text := one.text
		if one.paint != nil {
			text = one.paint(text)
		}
		b.WriteString(text)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-width(one.text)+2))
		}
	}
	fmt.Fprintln(w, b.String())
}
