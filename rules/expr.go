package rules

import (
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	bytecode "github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// exprLock serializes expr's parser, checker and compiler: they cache lookups in the types of
// facts, which all rules share. Only the functions of this file call expr, and each takes the lock.
var exprLock sync.Mutex

// parse reads an expression.
func (e *environment) parse(text string) (ast.Node, error) {
	exprLock.Lock()
	defer exprLock.Unlock()
	tree, err := parser.ParseWithConfig(text, e.exprConfig())
	if err != nil {
		return nil, err
	}
	return tree.Node, nil
}

// ParseExpression returns the syntax tree of an expression, whatever its names are.
func ParseExpression(text string) (ast.Node, error) {
	if len(text) > maxExpression {
		return nil, say("the expression is %d bytes long; at most %d are allowed", len(text), maxExpression)
	}
	return nameless.parse(text)
}

// nameless is the environment of an expression that is only read.
var nameless = &environment{}

// check gives every part of an expression its type. Its error is the first wrong one.
func (e *environment) check(node ast.Node, text string) error {
	exprLock.Lock()
	defer exprLock.Unlock()
	_, err := checker.Check(&parser.Tree{Node: node, Source: file.NewSource(text)}, e.exprConfig())
	return err
}

// compile makes a program of an expression that was checked, or of a part of it.
func (e *environment) compile(node ast.Node, text string) (*vm.Program, error) {
	exprLock.Lock()
	defer exprLock.Unlock()
	return bytecode.Compile(&parser.Tree{Node: node, Source: file.NewSource(text)}, e.exprConfig())
}

// exprConfig returns expr's configuration for the environment. The caller holds the lock.
func (e *environment) exprConfig() *conf.Config {
	if e.config == nil {
		env := make(types.Map, len(e.names))
		for name, t := range e.names {
			env[name] = t.expr
		}
		e.config = &conf.Config{
			ShortCircuit: true, MaxNodes: maxExpression,
			Functions: exprFunctions, Builtins: exprBuiltins, Disabled: map[string]bool{},
		}
		e.config.WithEnv(env)
	}
	return e.config
}
