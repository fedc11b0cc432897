package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/phrases"
)

// The commands of code lenses. Their arguments are the URI of a document and a name.
const (
	runTestCommand  = "quando.runTest"
	backtestCommand = "quando.backtest"
)

// lenses offers to run each test, and to try each rule on recorded events.
func (v *view) lenses(_ context.Context, p documentParams) (any, error) {
	d, err := v.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	symbols, _ := v.files.symbolsOf(v, d.file)
	if len(symbols) == 0 { // it cannot be read just now
		symbols = v.checker.lastSymbols(v, d)
	}
	list := []codeLens{}
	for _, s := range symbols {
		switch {
		case !s.Definition || s.Line > len(d.starts):
		case s.Kind == editor.TestSymbol:
			list = append(list, codeLens{d.rangeOf(s), command{phrases.Word("Run test").In(v.language), runTestCommand, []string{d.uri, s.Name}}})
		case s.Kind == editor.RuleSymbol:
			list = append(list, codeLens{d.rangeOf(s), command{"Backtest", backtestCommand, []string{d.uri, s.Name}}})
		}
	}
	return list, nil
}

// execute carries out a command of a lens, with the texts as they are open.
func (v *view) execute(ctx context.Context, p commandParams) (any, error) {
	var args [2]string
	if len(p.Arguments) == 0 || len(p.Arguments) > len(args) {
		return nil, &rpcError{invalidParams, "a command takes the URI of a document and a name"}
	}
	for i, raw := range p.Arguments {
		if err := json.Unmarshal(raw, &args[i]); err != nil {
			return nil, &rpcError{invalidParams, err.Error()}
		}
	}
	d, err := v.document(args[0])
	if err != nil {
		return nil, err
	}
	w := v.spaceOf(d.file)
	if w == nil {
		return nil, v.refused(phrases.Sprintf("the configuration of this file cannot be read; quando check says why"))
	}
	switch p.Command {
	case runTestCommand:
		return v.runTest(ctx, w, d, args[1])
	case backtestCommand:
		return v.backtest(ctx, w, d, args[1])
	}
	return nil, &rpcError{invalidParams, fmt.Sprintf("the command %q is not known", p.Command)}
}

// runTest runs a test, or all of a file, and shows what came of it. A failure is told at its step,
// until something is typed.
func (v *view) runTest(ctx context.Context, w *space, d *document, name string) (any, error) {
	results, err := w.Test(ctx, v.workspaceFiles(w, d), d.file, name)
	if err != nil {
		v.show(messageError, err.Error())
		return nil, err
	}
	var failed []TestResult
	for _, r := range results {
		v.log(messageInfo, r.Report)
		if !r.OK {
			failed = append(failed, r)
		}
	}
	v.mu.Lock()
	current := v.Server.docs[d.uri] == d
	if current {
		v.failures[d.file] = failed
	}
	v.mu.Unlock()
	if current {
		v.checker.changed()
	}
	switch {
	case len(failed) > 0:
		v.show(messageError, phrases.Sprintf("failed: %s: %s", failed[0].Name, failed[0].Message).In(v.language))
	case len(results) == 1:
		v.show(messageInfo, phrases.Sprintf("passed: %s", results[0].Name).In(v.language))
	default:
		v.show(messageInfo, phrases.Sprintf("%d tests passed", len(results)).In(v.language))
	}
	return object{"tests": len(results), "failed": len(failed)}, nil
}

// backtest tries a rule on recorded events, and shows what it would have done.
func (v *view) backtest(ctx context.Context, w *space, d *document, rule string) (any, error) {
	summary, report, err := w.Backtest(ctx, v.workspaceFiles(w, d), d.file, rule)
	if err != nil {
		v.show(messageError, err.Error())
		return nil, err
	}
	v.log(messageInfo, report)
	v.show(messageInfo, strings.TrimSpace(summary))
	return object{"report": report}, nil
}
