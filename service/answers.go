package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

// decode turns a raw object into a typed one.
type decode[T any] func(map[string]any, *Profile) T

// one makes a call that returns a single object. The anchor is a field by which the object is
// recognized: if it is missing, the object is searched inside a wrapper. An answer without a body
// gives the zero object.
func one[T any](ctx context.Context, c *Client, r request, kind string, anchor Paths, d decode[T]) (T, reply, error) {
	out, err := c.do(ctx, r)
	if err != nil {
		var zero T
		return zero, out, err
	}
	return d(c.unwrap(out.value, kind, anchor), c.profile), out, nil
}

// created is one for calls whose answer must have the new object's id, without which it is useless.
func created[T any](ctx context.Context, c *Client, r request, kind string, id Paths, d decode[T]) (T, reply, error) {
	v, out, err := one(ctx, c, r, kind, id, d)
	if err == nil && fields(c.unwrap(out.value, kind, id)).id(id) == "" {
		err = &Error{Op: r.op.String(), Status: 201, Scope: r.op.Scope, Uncertain: true,
			Message: "the answer carries no id under any name the profile knows (" + kind + ".id)", Err: errors.New("no id in the answer")}
	}
	return v, out, err
}

func (c *Client) unwrap(v any, kind string, anchor Paths) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if _, ok := Lookup(m, anchor); ok {
		return m
	}
	if inner, ok := m[kind].(map[string]any); ok {
		return withSiblings(inner, m, kind)
	}
	if inner, ok := first(m, c.profile.Object.Wrappers, asObject); ok {
		return c.unwrap(inner, kind, anchor)
	}
	return m
}

// withSiblings adds to an object what an answer puts beside it: {"attendance": {…}, "contact": {…}}
// is an attendance with its contact.
func withSiblings(object, answer map[string]any, kind string) map[string]any {
	whole := object
	for name, v := range answer {
		_, taken := object[name]
		if _, isScalar := asString(v); taken || isScalar || v == nil || name == kind {
			continue
		}
		if len(whole) == len(object) {
			whole = maps.Clone(object)
		}
		whole[name] = v
	}
	return whole
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	// NextCursor continues the list; it is empty on the last page and where the service gives none.
	NextCursor string

	// For the iterators: whether the answer had a cursor at all (null included), or denied that there
	// is more.
	cursorGiven, ended bool
}

// list makes a call that answers with a list: a bare array, or an array in an envelope.
func list[T any](ctx context.Context, c *Client, r request, d decode[T]) (Page[T], error) {
	out, err := c.do(ctx, r)
	if err != nil {
		return Page[T]{}, err
	}
	raw, page, err := pageOf[T](c.profile, out.value)
	if err != nil {
		return page, &Error{Op: r.op.String(), Status: 200, Scope: r.op.Scope, Message: "the answer is not a list", Err: err}
	}
	page.Items = make([]T, 0, len(raw))
	for _, item := range raw {
		if m, ok := item.(map[string]any); ok {
			page.Items = append(page.Items, d(m, c.profile))
		}
	}
	return page, nil
}

// all is list for the lists that have no pages.
func all[T any](ctx context.Context, c *Client, r request, d decode[T]) ([]T, error) {
	page, err := list(ctx, c, r, d)
	return page.Items, err
}

var errNoList = errors.New("no array found at any path of the profile's list.items")

func pageOf[T any](p *Profile, v any) ([]any, Page[T], error) {
	var page Page[T]
	switch v := v.(type) {
	case nil:
		return nil, page, nil
	case []any:
		return v, page, nil
	case map[string]any:
		cursor, given := Lookup(v, p.List.NextCursor)
		page.NextCursor, _ = asString(cursor)
		page.cursorGiven = given
		if more, ok := first(v, p.List.HasMore, asBool); ok && !more {
			page.ended = true
		}
		items, ok := first(v, p.List.Items, asList)
		if !ok {
			items, ok = onlyArray(v)
		}
		if !ok && !p.List.isNull(v) {
			return nil, page, errNoList
		}
		return items, page, nil
	}
	return nil, page, errNoList
}

func asList(v any) ([]any, bool) {
	l, ok := v.([]any)
	return l, ok
}

// onlyArray finds the list in an envelope named for its content, such as {"conversations": […]}.
func onlyArray(m map[string]any) (found []any, ok bool) {
	for _, v := range m {
		if l, is := v.([]any); is {
			if ok {
				return nil, false
			}
			found, ok = l, true
		}
	}
	return found, ok
}

// isNull reports whether an envelope has null if the list would be and says nothing else, which is
// how some services write an empty list.
func (p *ListProfile) isNull(m map[string]any) bool {
	for name, v := range m {
		if _, object := asObject(v); object && !p.isPage(name) {
			return false
		}
	}
	return slices.ContainsFunc(p.Items, func(path string) bool {
		v, there := at(m, path)
		return there && v == nil
	})
}

// isPage reports whether a member of an envelope describes the page.
func (p *ListProfile) isPage(name string) bool {
	return slices.ContainsFunc(slices.Concat(p.Items, p.NextCursor, p.HasMore), func(path string) bool { return strings.HasPrefix(path, name+".") })
}
