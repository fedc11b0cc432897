package service

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// ProfileFromMap applies settings to the default profile: unnamed settings keep their default, a
// list of candidates replaces the default list. The keys are the json tags of [Profile]. It reports
// every problem, not only the first; the profile is usable only if there is none.
func ProfileFromMap(settings map[string]any) (Profile, []error) {
	p := DefaultProfile()
	var l profileLoader
	l.structure("", settings, reflect.ValueOf(&p).Elem())
	l.errs = append(l.errs, p.check()...)
	return p, l.errs
}

type profileLoader struct{ errs []error }

func (l *profileLoader) fail(path, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("profile: %s: %s", path, fmt.Sprintf(format, args...)))
}

func (l *profileLoader) structure(path string, settings map[string]any, into reflect.Value) {
	known := map[string]reflect.Value{}
	for i := range into.NumField() {
		known[into.Type().Field(i).Tag.Get("json")] = into.Field(i)
	}
	for _, key := range sortedKeys(settings) {
		field, ok := known[key]
		if !ok {
			hint := ""
			if near := nearNames(key, sortedKeys(known)); len(near) > 0 {
				hint = "; did you mean " + strings.Join(near, " or ") + "?"
			}
			l.fail(join(path, key), "unknown key%s", hint)
			continue
		}
		l.value(join(path, key), settings[key], field)
	}
}

func (l *profileLoader) value(path string, v any, into reflect.Value) {
	switch into.Kind() {
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			l.structure(path, m, into)
			return
		}
		l.fail(path, "expected a mapping, found %s", typeName(v))
	case reflect.String:
		if s, ok := v.(string); ok {
			into.SetString(s)
			return
		}
		l.fail(path, "expected a string, found %s", typeName(v))
	case reflect.Slice:
		if list, ok := stringList(v); ok {
			into.Set(reflect.ValueOf(list).Convert(into.Type()))
			return
		}
		l.fail(path, "expected a name or a list of names, found %s", typeName(v))
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			l.fail(path, "expected a mapping of names, found %s", typeName(v))
			return
		}
		names := make(map[string]string, len(m))
		for key, value := range m {
			if names[key], ok = value.(string); !ok {
				l.fail(join(path, key), "expected a string, found %s", typeName(value))
			}
		}
		into.Set(reflect.ValueOf(names))
	}
}

// stringList also takes a single name for a list of one.
func stringList(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, v != ""
	case []string:
		return slices.Clone(v), true
	case []any:
		list := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			if !ok || s == "" {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "a mapping"
	case []any, []string:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "true or false"
	}
	return "a number"
}

// cardBody lists our names of a card's fields, which the bodies of a CardProfile map to the
// service's.
var cardBody = []string{"board_id", "stage_id", "title", "description", "priority", "label_ids", "label_id", "due_date", "contact_id", "conversation_id", "attendance_id"}

// check reports settings with which no request could be made.
func (p *Profile) check() []error {
	var l profileLoader
	if p.HeaderPrefix == "" || strings.ContainsAny(p.HeaderPrefix, " :\r\n") {
		l.fail("header_prefix", "%q cannot begin a header's name", p.HeaderPrefix)
	}
	choice := func(path, value string, among ...string) {
		if !slices.Contains(among, value) {
			l.fail(path, "%q is none of %s", value, strings.Join(among, ", "))
		}
	}
	choice("cards.version_in", p.Cards.VersionIn, "header", "body", "both")
	choice("cards.if_match", p.Cards.IfMatch, "auto", "quoted", "bare")
	choice("cards.due_format", p.Cards.DueFormat, "rfc3339", "date")
	for _, c := range []struct {
		name  string
		op    CardOperation
		hasID bool
	}{{"create", p.Cards.Create, false}, {"get", p.Cards.Get, true}, {"update", p.Cards.Update, true}, {"move", p.Cards.Move, true}} {
		path := "cards." + c.name
		if c.op.Path == "" {
			if c.name != "get" {
				l.fail(path+".path", "is missing")
			}
			continue
		}
		choice(path+".method", c.op.Method, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch)
		if !strings.HasPrefix(c.op.Path, "/") || strings.ContainsAny(c.op.Path, "?# ") {
			l.fail(path+".path", "%q must begin with / and have no query", c.op.Path)
		}
		if c.hasID && strings.Count(c.op.Path, "{id}") != 1 {
			l.fail(path+".path", "%q must contain {id} once", c.op.Path)
		}
		for _, name := range sortedKeys(c.op.Body) {
			if !slices.Contains(cardBody, name) {
				l.fail(join(path+".body", name), "is not a field of a card; there are %s", strings.Join(cardBody, ", "))
			}
		}
	}
	for prefix, kind := range p.Event.Self {
		if objects, _ := p.eventPaths(Kind(kind)); objects == nil {
			l.fail(join("event.self", prefix), "%q is none of conversation, contact, message, attendance, card", kind)
		}
	}
	return l.errs
}

// Unseen names the fields of one kind ("attendance") that none of the given objects had under any
// candidate path: what to check when a live service does not fit the profile. Null counts as seen.
func (p *Profile) Unseen(kind string, objects ...map[string]any) []string {
	var unseen []string
	for _, c := range p.Candidates(kind) {
		if !slices.ContainsFunc(objects, func(o map[string]any) bool { _, ok := Lookup(o, c.Paths); return ok }) {
			unseen = append(unseen, c.Field)
		}
	}
	return unseen
}

// A Candidate is a field of the profile with its candidate paths.
type Candidate struct {
	Field string // conversation_id
	Paths Paths
}

// Candidates returns the fields of one section ("event", "attendance") that have candidate paths,
// in the profile's order.
func (p *Profile) Candidates(section string) []Candidate {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") != section || v.Field(i).Kind() != reflect.Struct {
			continue
		}
		var list []Candidate
		for j := range v.Field(i).NumField() {
			if paths, ok := v.Field(i).Field(j).Interface().(Paths); ok {
				list = append(list, Candidate{v.Field(i).Type().Field(j).Tag.Get("json"), paths})
			}
		}
		return list
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
