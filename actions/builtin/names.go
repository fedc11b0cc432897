package builtin

import (
	"context"
	"slices"

	"github.com/quandohq/quando/service"
)

// id turns the name that an argument gives into an id; empty when the argument is not given. One that is given and empty
// is a mistake: without it the step would do something else than it says.
func (d *desk) id(ctx context.Context, a args, arg string, kind service.Kind) (string, error) {
	if !a.has(arg) {
		return "", nil
	}
	name, err := a.need(arg)
	if err != nil {
		return "", err
	}
	return d.directory.ID(ctx, kind, name)
}

// labels turns the names that an argument gives into the ids of labels, each once.
func (d *desk) labels(ctx context.Context, a args, arg string) ([]string, error) {
	ids := []string{}
	for _, name := range a.texts(arg) {
		id, err := d.directory.ID(ctx, service.KindLabel, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// merged returns the labels with some added and some taken off, in their old order.
func merged(labels, add, remove []string) []string {
	out := []string{}
	for _, id := range slices.Concat(labels, add) {
		if !slices.Contains(out, id) && !slices.Contains(remove, id) {
			out = append(out, id)
		}
	}
	return out
}

// sameLabels reports whether two lists hold the same labels, in whatever order.
func sameLabels(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id string) bool { return !slices.Contains(b, id) })
}
