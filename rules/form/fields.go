package form

import "reflect"

// text returns the field of a key that holds one text, or nil.
func (f *Form) text(key string) *string {
	switch key {
	case "id":
		return &f.ID
	case "name":
		return &f.Name
	case "description":
		return &f.Description
	case "stage":
		return &f.Stage
	case "sample":
		return &f.Sample
	case "from":
		return &f.From
	case "claimed":
		return &f.Claimed
	case "internal":
		return &f.Internal
	case "by":
		return &f.By
	case "mode":
		return &f.Mode
	case "max":
		return &f.Max
	}
	return nil
}

// list returns the field of a key that holds one or several texts, or nil.
func (f *Form) list(key string) *[]string {
	switch key {
	case "tags":
		return &f.Tags
	case "if":
		return &f.If
	}
	return nil
}

// record returns the fields of a key that holds a mapping of texts, in their order, or nil; make
// creates the mapping if it is absent.
func (f *Form) record(key string, make bool) (names []string, values []*string) {
	switch key {
	case "gather":
		if f.Gather == nil && make {
			f.Gather = &Gather{}
		}
		if g := f.Gather; g != nil {
			return []string{"quiet", "at_most"}, []*string{&g.Quiet, &g.AtMost}
		}
	case "limit":
		if f.Limit == nil && make {
			f.Limit = &Limit{}
		}
		if l := f.Limit; l != nil {
			return []string{"times", "per", "by"}, []*string{&l.Times, &l.Per, &l.By}
		}
	case "late":
		if f.Late == nil && make {
			f.Late = &Late{}
		}
		if l := f.Late; l != nil {
			return []string{"skip_after", "run"}, []*string{&l.SkipAfter, &l.Run}
		}
	}
	return nil, nil
}

// clear removes a mapping of texts.
func (f *Form) clear(key string) {
	switch key {
	case "gather":
		f.Gather = nil
	case "limit":
		f.Limit = nil
	case "late":
		f.Late = nil
	}
}

// field returns what the form says of a key.
func (f *Form) field(key string) any {
	if text := f.text(key); text != nil {
		return *text
	}
	if list := f.list(key); list != nil {
		return *list
	}
	switch key {
	case "when":
		return f.When
	case "gather":
		return f.Gather
	case "limit":
		return f.Limit
	case "late":
		return f.Late
	case "cancel_on":
		return f.CancelOn
	case "do":
		return f.Do
	case "on_error":
		return f.OnError
	}
	return nil
}

func (s *Schedule) text(key string) *string {
	switch key {
	case "every":
		return &s.Every
	case "cron":
		return &s.Cron
	case "timezone":
		return &s.Timezone
	case "each":
		return &s.Each
	}
	return nil
}

func (s *Schedule) list(key string) *[]string {
	switch key {
	case "at":
		return &s.At
	case "on":
		return &s.On
	}
	return nil
}

func (s *Step) text(key string) *string {
	switch key {
	case "id":
		return &s.ID
	case "if":
		return &s.If
	case "on_error":
		return &s.OnError
	case "even_if_muted":
		return &s.EvenIfMuted
	case "enabled":
		return &s.Enabled
	}
	return nil
}

// same reports whether two values of fields are equal. A nil list equals an empty one.
func same(a, b any) bool { return sameValue(reflect.ValueOf(a), reflect.ValueOf(b)) }

func sameValue(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	switch a.Kind() {
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			if other := b.MapIndex(key); !other.IsValid() || !sameValue(a.MapIndex(key), other) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameValue(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !sameValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Interface() == b.Interface()
}
