package lsp

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/quandohq/quando/rules/editor"
)

// A symbolPlace is where a name stands.
type symbolPlace struct {
	doc    *document // also of a file that is not open
	symbol editor.Symbol
}

func (p symbolPlace) location() location { return location{p.doc.uri, p.doc.rangeOf(p.symbol)} }

// base returns the name of the document's file.
func (d *document) base() string { return filepath.Base(d.file) }

// symbolAt returns the name that stands at a place.
func (v *view) symbolAt(d *document, line, column int) (editor.Symbol, bool) {
	symbols, _ := v.files.symbolsOf(v, d.file)
	i := slices.IndexFunc(symbols, func(s editor.Symbol) bool {
		return s.Line == line && s.Column <= column && column <= s.Column+s.Length
	})
	if i < 0 {
		return editor.Symbol{}, false
	}
	return symbols[i], true
}

// places returns every place of the workspace that has a name, those of the document first.
func (v *view) places(d *document, s editor.Symbol) (list []symbolPlace) {
	names := []string{d.file}
	if p := v.spaceOf(d.file); p != nil && !s.Local() {
		for _, name := range p.Files() {
			if name != d.file {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		symbols, text := v.files.symbolsOf(v, name)
		doc := v.open(name)
		for _, other := range symbols {
			if !other.Same(s) {
				continue
			}
			if doc == nil {
				doc = newDocument(uriOf(name), 0, text, v.units)
			}
			list = append(list, symbolPlace{doc, other})
		}
	}
	return list
}

// definition says where a name is defined.
func (v *view) definition(_ context.Context, p positionParams) (any, error) {
	return v.locations(p, func(s editor.Symbol) bool { return s.Definition })
}

// references says where a name is used.
func (v *view) references(_ context.Context, p referenceParams) (any, error) {
	return v.locations(p.positionParams, func(s editor.Symbol) bool { return !s.Definition || p.Context.IncludeDeclaration })
}

func (v *view) locations(p positionParams, wanted func(editor.Symbol) bool) (any, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := []location{}
	line, column := d.place(p.Position)
	if s, ok := v.symbolAt(d, line, column); ok {
		for _, found := range v.places(d, s) {
			if wanted(found.symbol) {
				list = append(list, found.location())
			}
		}
	}
	return list, nil
}

// symbolKinds are the pictures of an outline.
var symbolKinds = map[editor.SymbolKind]int{editor.RuleSymbol: 24, editor.TestSymbol: 12, editor.CalendarSymbol: 19, editor.VarSymbol: 14}

// outline lists what a document defines.
func (v *view) outline(_ context.Context, p documentParams) (any, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := []documentSymbol{}
	symbols, _ := v.files.symbolsOf(v, d.file)
	for _, s := range symbols {
		if kind := symbolKinds[s.Kind]; s.Definition && kind != 0 {
			list = append(list, documentSymbol{s.Name, kind, d.rangeOf(s), d.rangeOf(s)})
		}
	}
	return list, nil
}
