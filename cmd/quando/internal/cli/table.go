package cli

import (
	"fmt"
	"io"
	"strings"
)

// TableWidth is how many columns a report takes at most.
const TableWidth = 100

// A Table is rows under a header, each with further lines below it. It measures what characters
// take on a terminal, which text/tabwriter does not: colours take no space, and some characters
// take two columns. Nothing is cut: on a terminal the further lines are wrapped at its width.
type Table struct {
	Head []string
	rows []tableRow
}

type tableRow struct {
	cells   []Cell
	details []string
}

// A Cell is a text with the colour that it is painted in.
type Cell struct {
	Text  string
	Paint func(string) string // nil is plain
}

// Add appends a row. Texts are made harmless, and so are the details.
func (t *Table) Add(cells []Cell, details ...string) {
	for i := range cells {
		cells[i].Text = Harmless(cells[i].Text)
	}
	row := tableRow{cells: cells}
	for _, d := range details {
		if d != "" {
			row.details = append(row.details, Harmless(d))
		}
	}
	t.rows = append(t.rows, row)
}

const detailIndent = 4

func (t *Table) Write(w io.Writer, c Palette) {
	widths := make([]int, len(t.Head))
	for i, h := range t.Head {
		widths[i] = Width(h)
		for _, row := range t.rows {
			widths[i] = max(widths[i], Width(row.cells[i].Text))
		}
	}
	head := make([]Cell, len(t.Head))
	for i, h := range t.Head {
		head[i] = Cell{h, c.Dim}
	}
	writeCells(w, head, widths)
	for _, row := range t.rows {
		writeCells(w, row.cells, widths)
		for _, d := range row.details {
			for _, line := range Wrap(d, LineWidth(w)-detailIndent) {
				fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", detailIndent), c.Dim(line))
			}
		}
	}
}

func writeCells(w io.Writer, cells []Cell, widths []int) {
	var b strings.Builder
	for i, one := range cells {
		text := one.Text
		if one.Paint != nil {
			text = one.Paint(text)
		}
		b.WriteString(text)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-Width(one.Text)+2))
		}
	}
	fmt.Fprintln(w, b.String())
}
