package lsp

import (
	"context"

	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/phrases"
)

// renamed returns the name to be changed; it must be defined in the workspace.
func (v *view) renamed(p positionParams) (*document, editor.Symbol, []symbolPlace, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, editor.Symbol{}, nil, err
	}
	line, column := d.place(p.Position)
	s, ok := v.symbolAt(d, line, column)
	if !ok {
		return nil, s, nil, v.refused(phrases.Sprintf("nothing that can be renamed stands here: stand on the id of a rule or a step, a constant or a calendar"))
	}
	places := v.places(d, s)
	for _, found := range places {
		if found.symbol.Definition {
			return d, s, places, nil
		}
	}
	return nil, s, nil, v.refused(phrases.Sprintf("%q is not defined in these files", s.Name))
}

// refused returns an error in the language of the person.
func (v *view) refused(m *phrases.Message) error { return &rpcError{requestFailed, m.In(v.language)} }

// prepareRename says what would be renamed.
func (v *view) prepareRename(_ context.Context, p positionParams) (any, error) {
	d, s, _, err := v.renamed(p)
	if err != nil {
		return nil, err
	}
	return object{"range": d.rangeOf(s), "placeholder": s.Name}, nil
}

// rename changes a name everywhere.
func (v *view) rename(_ context.Context, p renameParams) (any, error) {
	d, s, places, err := v.renamed(p.positionParams)
	if err != nil {
		return nil, err
	}
	if wrong := s.CheckName(p.NewName); wrong != nil {
		return nil, v.refused(wrong)
	}
	other := s
	other.Name = p.NewName
	if p.NewName != s.Name && len(v.places(d, other)) > 0 {
		return nil, v.refused(phrases.Sprintf("%q is taken", p.NewName))
	}
	edit := workspaceEdit{make(map[string][]textEdit)}
	for _, found := range places {
		edit.Changes[found.doc.uri] = append(edit.Changes[found.doc.uri], textEdit{found.doc.rangeOf(found.symbol), p.NewName})
	}
	if s.Kind == editor.RuleSymbol {
		v.show(messageInfo, phrases.Sprintf("the rule starts afresh under its new id: limits count from nothing, and its unfinished runs stay with %q", s.Name).In(v.language))
	}
	return edit, nil
}
