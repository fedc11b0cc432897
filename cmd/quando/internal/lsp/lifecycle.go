package lsp

import (
	"context"
	"encoding/json"
	"slices"
)

// A handler answers a request about documents.
type handler func(ctx context.Context, v *view, raw json.RawMessage) (any, error)

// handlers has what can be asked for besides the life of the server.
var handlers = map[string]handler{
	"textDocument/completion":     with((*view).completion),
	"textDocument/hover":          with((*view).hover),
	"textDocument/definition":     with((*view).definition),
	"textDocument/references":     with((*view).references),
	"textDocument/prepareRename":  with((*view).prepareRename),
	"textDocument/rename":         with((*view).rename),
	"textDocument/formatting":     with((*view).format),
	"textDocument/codeLens":       with((*view).lenses),
	"textDocument/documentSymbol": with((*view).outline),
	"workspace/executeCommand":    with((*view).execute),
}

// with makes a handler of a method that takes its parameters.
func with[T any](f func(*view, context.Context, T) (any, error)) handler {
	return func(ctx context.Context, v *view, raw json.RawMessage) (any, error) {
		p, err := params[T](raw)
		if err != nil {
			return nil, err
		}
		return f(v, ctx, p)
	}
}

type object map[string]any

// initialize agrees upon what both sides can do.
func (s *Server) initialize(raw json.RawMessage) (any, error) {
	if s.state != fresh {
		return nil, &rpcError{invalidRequest, "the server is initialized already"}
	}
	p, err := params[initializeParams](raw)
	if err != nil {
		return nil, err
	}
	s.state = initialized
	s.watches = p.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration
	if slices.Contains(p.Capabilities.General.PositionEncodings, string(utf8Units)) {
		s.units = utf8Units
	}
	return object{
		"serverInfo": object{"name": "quando", "version": s.version},
		"capabilities": object{
			"positionEncoding":           s.units,
			"textDocumentSync":           object{"openClose": true, "change": 2, "save": object{}},
			"completionProvider":         object{"triggerCharacters": []string{":", " ", ".", "\"", "'", "{", "[", "-", "("}},
			"hoverProvider":              true,
			"definitionProvider":         true,
			"referencesProvider":         true,
			"documentSymbolProvider":     true,
			"documentFormattingProvider": true,
			"renameProvider":             object{"prepareProvider": true},
			"codeLensProvider":           object{},
			"executeCommandProvider":     object{"commands": []string{runTestCommand, backtestCommand}},
		},
	}, nil
}

// notification takes what the editor tells.
func (s *Server) notification(m message) {
	switch m.Method {
	case "initialized":
		if s.watches {
			s.watch()
		}
	case "textDocument/didOpen":
		if p, err := params[openParams](m.Params); err == nil {
			s.setDocument(newDocument(p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text, s.units))
		}
	case "textDocument/didChange":
		if p, err := params[changeParams](m.Params); err == nil {
			s.mu.Lock()
			d := s.docs[p.TextDocument.URI]
			s.mu.Unlock()
			if d != nil {
				s.setDocument(d.changed(p.TextDocument.Version, p.ContentChanges))
			}
		}
	case "textDocument/didClose":
		if p, err := params[documentParams](m.Params); err == nil {
			s.closeDocument(p.TextDocument.URI)
		}
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.forgetSpaces()
		s.checker.changed()
	case "$/cancelRequest":
		var p struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			s.mu.Lock()
			if cancel := s.running[string(p.ID)]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		}
	}
}

// watch asks the editor to tell of rule files and configurations that change on the disk.
func (s *Server) watch() {
	body, err := json.Marshal(object{"registrations": []object{{
		"id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": object{"watchers": []object{{"globPattern": "**/*.{yaml,yml,ics}"}}},
	}}})
	if err == nil {
		_ = s.out.write(message{ID: json.RawMessage(`"watch"`), Method: "client/registerCapability", Params: body})
	}
}

func (s *Server) setDocument(d *document) {
	s.mu.Lock()
	s.docs[d.uri] = d
	clear(s.failures) // they are of other texts
	s.mu.Unlock()
	s.checker.changed(d.uri)
}

func (s *Server) closeDocument(uri string) {
	s.checker.telling.Lock()
	s.mu.Lock()
	delete(s.docs, uri)
	s.mu.Unlock()
	s.checker.forget(uri)
	s.notify("textDocument/publishDiagnostics", publishParams{URI: uri, Diagnostics: []diagnostic{}})
	s.checker.telling.Unlock()
	s.checker.changed()
}
