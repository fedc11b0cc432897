package lsp

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/rules/editor"
)

// hover says what a word means.
func (v *view) hover(_ context.Context, p positionParams) (any, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	line, column := d.place(p.Position)
	if s, ok := v.symbolAt(d, line, column); ok {
		if text := v.describeSymbol(d, s); text != "" {
			return hover{markup{"markdown", text}, d.rangeOf(s)}, nil
		}
	}
	found := v.completer(d, line).Describe(d.text, line, column, v.language)
	if found == nil {
		return nil, nil
	}
	return hover{markup{"markdown", found.Markdown}, textRange{d.at(line, found.From), d.at(line, found.To)}}, nil
}

// describeSymbol shows where a name is defined, with the value of a constant.
func (v *view) describeSymbol(d *document, s editor.Symbol) string {
	for _, found := range v.places(d, s) {
		if !found.symbol.Definition {
			continue
		}
		text := fmt.Sprintf("**%s** `%s`", s.Kind, s.Name)
		if found.symbol.Value != "" {
			text += fmt.Sprintf(" = `%s`", found.symbol.Value)
		}
		return text + fmt.Sprintf("\n\n%s:%d", found.doc.base(), found.symbol.Line)
	}
	return ""
}
