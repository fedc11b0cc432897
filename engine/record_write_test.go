package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRecordIsWrittenAsJSON shows that a record is encoded as encoding/json does it, whatever it
// holds: with each field alone, with all of them, and with none.
func TestRecordIsWrittenAsJSON(t *testing.T) {
	var full record
	fill(reflect.ValueOf(&full).Elem())
	records := []record{{}, full}
	for i := range reflect.TypeFor[record]().NumField() {
		var r record
		fill(reflect.ValueOf(&r).Elem().Field(i))
		records = append(records, r)
	}
	for _, r := range records {
		want, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.appendJSON(nil)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

// TestRecordThatCannotBeWritten shows that what encoding/json refuses is refused, so that the
// caller can encode it in another way.
func TestRecordThatCannotBeWritten(t *testing.T) {
	for _, r := range []record{
		{Values: map[string]any{"n": math.Inf(1)}}, {At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, {Until: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if raw, err := r.appendJSON(nil); err == nil {
			t.Errorf("%s was written", raw)
		}
	}
}

// fill sets a value and everything in it.
func fill(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Date(2026, 11, 13, 17, 50, 0, 120_000_000, time.FixedZone("", -3*3600))
		return
	case *json.RawMessage:
		*at = json.RawMessage(`{"a":"b c"}`)
		return
	case *any:
		*at = []any{"é<&>\u2028\"\\\n", 1.5, nil, true, time.Minute, time.Date(2026, 11, 13, 0, 0, 0, 0, time.UTC)}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.String:
		v.SetString("<é> \"and\" \xff")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(1)) // and one that is empty
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range []string{"b", "a<"} {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(item)
			v.SetMapIndex(reflect.ValueOf(name), item)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic(fmt.Sprintf("a record has a %s", v.Type()))
	}
}

// TestValuesThatSurvive shows that a value for which roundTrips is true comes back unchanged from
// encode and decode; the others have to be decoded.
func TestValuesThatSurvive(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Now()
	for _, tc := range []struct {
		value any
		want  bool
	}{
		{nil, true}, {true, true}, {1.5, true}, {math.MaxInt, true}, {"olá \u2028 <b>", true}, {time.Minute, true}, {[]any{}, true}, {map[string]any{}, true},
		{map[string]any{"id": "x", "at": time.Date(2026, 11, 13, 17, 50, 0, 123456789, time.UTC), "list": []any{"a", nil, map[string]any{"n": math.Copysign(0, -1)}}}, true},
		{"\xff", false}, {map[string]any{"\xff": 1.0}, false}, {map[string]any{tagInt: "x"}, false}, {[]any{map[string]any{tagTime: "x"}}, false},
		{now, false}, {now.UTC(), true}, {now.In(zone), false}, {[]string{"a"}, false}, {[]any(nil), false}, {map[string]any(nil), false}, {int64(1), false}, {json.Number("1"), false},
	} {
		if got := roundTrips(tc.value); got != tc.want {
			t.Errorf("%#v survives: %v", tc.value, got)
		}
		if !tc.want {
			continue
		}
		raw, err := encode(tc.value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(raw)
		if !reflect.DeepEqual(tc.value, back) || err != nil {
			t.Errorf("%#v is read back as %#v, %v", tc.value, back, err)
		}
	}
}

// TestHowValuesAreRecorded keeps the encoding of recorded values: older versions have recorded
// them, and values are compared by their text.
func TestHowValuesAreRecorded(t *testing.T) {
	at := time.Date(2026, 11, 13, 17, 50, 0, 5000, time.UTC)
	for _, tc := range []struct {
		value any
		want  string
	}{
		{nil, `null`}, {"a<b", `"a\u003cb"`}, {1.0, `1`}, {1e21, `1e+21`}, {7, `{"$int":7}`}, {90 * time.Second, `{"$duration":"1m30s"}`},
		{at, `{"$time":"2026-11-13T17:50:00.000005Z","zone":"UTC"}`}, {[]string{"b", "a"}, `["b","a"]`}, {[]string(nil), `[]`}, {[]any(nil), `[]`}, {map[string]any(nil), `{}`},
		{map[string]any{"b": []any{1, "x"}, "a": nil}, `{"a":null,"b":[{"$int":1},"x"]}`},
		{map[string]any{"$time": at}, `{"$object":{"$time":{"$time":"2026-11-13T17:50:00.000005Z","zone":"UTC"}}}`},
		{map[string][]int{"x": {1}}, `{"x":[1]}`},
	} {
		raw, err := encode(tc.value)
		if string(raw) != tc.want || err != nil {
			t.Errorf("%#v is recorded as %s, %v; want %s", tc.value, raw, err, tc.want)
		}
	}
	for _, value := range []any{math.NaN(), []any{math.Inf(-1)}, map[string]any{"f": func() {}}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if raw, err := encode(value); err == nil {
			t.Errorf("%v is recorded as %s", value, raw)
		}
	}
}
