package lsp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/quandohq/quando/rules/editor"
)

// itemKinds are the pictures of completions.
var itemKinds = map[string]int{"keyword": 14, "function": 3, "property": 10, "enum": 13, "constant": 21, "variable": 6}

// completion says what could be written at a place.
func (v *view) completion(_ context.Context, p positionParams) (any, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	line, column := d.place(p.Position)
	found := v.completer(d, line).At(d.text, line, column)
	replaced := textRange{d.at(line, column-found.Length), p.Position}
	list := completionList{Items: []completionItem{}}
	for i, c := range found.Options {
		list.Items = append(list.Items, newItem(c, i, replaced))
	}
	return list, nil
}

func newItem(c editor.Completion, i int, replaced textRange) completionItem {
	item := completionItem{
		Label: c.Label, Kind: itemKinds[c.Type], Detail: c.Detail, SortText: fmt.Sprintf("%04d", i), FilterText: c.Label,
		TextEdit: &textEdit{replaced, cmp.Or(c.Apply, c.Label)},
	}
	if c.Info != "" {
		item.Documentation = &markup{"markdown", c.Info}
	}
	return item
}
