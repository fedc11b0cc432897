package lsp

import (
	"context"

	"github.com/quandohq/quando/rules"
)

// format brings a document into its canonical form, as quando fmt does.
func (v *view) format(_ context.Context, p documentParams) (any, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	formatted, problems := rules.Format(d.file, []byte(d.text))
	if len(problems) > 0 {
		return nil, &rpcError{requestFailed, problems.In(v.language)[0].Error()}
	}
	if string(formatted) == d.text {
		return []textEdit{}, nil
	}
	return []textEdit{{textRange{position{}, d.position(len(d.text))}, string(formatted)}}, nil
}
