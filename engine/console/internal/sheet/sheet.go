// Package sheet writes lists for spreadsheets.
package sheet

import (
	"encoding/csv"
	"io"
	"strings"
)

// A Writer writes rows as comma-separated values.
type Writer struct{ csv *csv.Writer }

// NewWriter returns a Writer. It begins with the mark by which spreadsheets know UTF-8.
func NewWriter(w io.Writer) (*Writer, error) {
	_, err := io.WriteString(w, "\ufeff")
	return &Writer{csv.NewWriter(w)}, err
}

// Row writes a row. Its cells are data: one that a spreadsheet would take for a formula begins with
// an apostrophe.
func (w *Writer) Row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		if strings.IndexAny(cell, "=+-@\t\r") == 0 {
			cell = "'" + cell
		}
		safe[i] = cell
	}
	return w.csv.Write(safe)
}

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
