package rules

import (
	"slices"
	"time"

	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/types"

	"github.com/quandohq/quando/rules/phrases"
)

// A Type says what an expression may do with a value. Types keep a wrong name or a wrong comparison
// from becoming a rule that silently never fires.
type Type struct {
	name   string  // in words, for messages
	fields []Field // of an object, in the order in which they are documented
	elem   *Type   // of a list
	expr   types.Type
}

// A Field is a named part of an object.
type Field struct {
	Name   string
	Type   *Type
	Doc    string
	Values []string // the only ones that it can have, where they are known
}

// The plain types. Every value may also be nil, where the service has none.
var (
	Text     = &Type{name: "a text", expr: fixed(types.String)}
	Number   = &Type{name: "a number", expr: fixed(types.Float64)}
	Flag     = &Type{name: "true or false", expr: fixed(types.Bool)}
	Time     = &Type{name: "a time", expr: fixed(types.TypeOf(time.Time{}))}
	Duration = &Type{name: "a duration", expr: fixed(types.TypeOf(time.Duration(0)))}
	Anything = &Type{name: "anything", expr: fixed(types.Any)}
)

// ListOf returns the type of a list.
func ListOf(elem *Type) *Type {
	return &Type{name: "a list", elem: elem, expr: fixed(types.Array(elem.expr))}
}

// Object returns the type of a value with the given fields and no others.
func Object(fields ...Field) *Type {
	m := make(types.Map, len(fields))
	for _, f := range fields {
		m[f.Name] = f.Type.expr
	}
	return &Type{name: "an object", fields: fields, expr: fixed(m)}
}

// String names the type in words.
func (t *Type) String() string { return t.name }

// In names the type in a language.
func (t *Type) In(l Language) string { return phrases.Word(t.name).In(l) }

// Fields returns the parts of an object, nil for everything else.
func (t *Type) Fields() []Field { return t.fields }

// Elem returns the type of a list's items, nil for everything else.
func (t *Type) Elem() *Type { return t.elem }

// Field returns the type of a named part, or nil.
func (t *Type) Field(name string) *Type {
	for _, f := range t.fields {
		if f.Name == name {
			return f.Type
		}
	}
	return nil
}

// with returns the object with more fields; one of the same name is replaced.
func (t *Type) with(more ...Field) *Type {
	fields := slices.Clone(t.fields)
	for _, f := range more {
		fields = slices.DeleteFunc(fields, func(old Field) bool { return old.Name == f.Name })
		fields = append(fields, f)
	}
	return Object(fields...)
}

func fieldNames(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// typeOf returns the type of a constant from a rule file.
func typeOf(v any) *Type {
	switch v := v.(type) {
	case string:
		return Text
	case int, float64:
		return Number
	case bool:
		return Flag
	case []any:
		if len(v) == 0 {
			return ListOf(Anything)
		}
		elem := typeOf(v[0])
		for _, item := range v[1:] {
			if typeOf(item).name != elem.name {
				return ListOf(Anything)
			}
		}
		return ListOf(elem)
	case map[string]any:
		fields := make([]Field, 0, len(v))
		for name, value := range v {
			fields = append(fields, Field{Name: name, Type: typeOf(value)})
		}
		slices.SortFunc(fields, func(a, b Field) int { return compareText(a.Name, b.Name) })
		return Object(fields...)
	}
	return Anything
}

// fixedType is a type for expr whose description is worked out once, since every environment names
// all facts.
type fixedType struct {
	types.Type
	nature nature.Nature
}

func fixed(t types.Type) types.Type { return fixedType{t, t.Nature()} }

func (t fixedType) Nature() nature.Nature { return t.nature }
