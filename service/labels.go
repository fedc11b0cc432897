package service

import "context"

var (
	opListLabels = Operation{"GET", "/labels", "contacts:read"}
)

var labelOperations = []Operation{opListLabels}

// Label marks contacts, conversations and cards.
type Label struct {
	ID    string
	Name  string
	Color string
	Raw   map[string]any
}

// DecodeLabel reads a label through the profile.
func DecodeLabel(raw map[string]any, p *Profile) Label {
	f, n := fields(raw), &p.Label
	return Label{ID: f.id(n.ID), Name: f.str(n.Name), Color: f.str(n.Color), Raw: raw}
}

// ListLabels lists all labels.
func (c *Client) ListLabels(ctx context.Context) ([]Label, error) {
	return all(ctx, c, request{op: opListLabels}, DecodeLabel)
}
