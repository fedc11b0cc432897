package plain_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/plain"
)

// texts are what a service, or an attacker, may send.
var texts = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1`, `-1.5e3`, `1E+2`, `1e-7`, `123456789012345678`, `1e21`, `1e400`, `-1e400`, `""`, `"a"`, `"olá ✓ 😀"`,
	`{"a":1,"a":2}`, `{"a":{"b":[1,2,{"c":null}]},"d":"\u00e9\n\t\"\\\/\b\f\r"}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\u0000"`, `"\u2028\u2029<>&"`,
	" { \"a\" :\t1 ,\r\n \"b\" : [ ] } ", "\"\xff\xfe\"", "\"\xed\xa0\x80\"", `{"id":"e1","type":"message.received","data":{"message":{"id":"m1","text":"hi"}}}`,
	`{"olá":"olá","b":"olá \"João\" \u00e9","c":"é"}`, "\"olá\xff é\"", "\"olá\xc3\"", `"olá`, `"olá\`, "\"olá\n\"",
	``, ` `, `{`, `}`, `[`, `[1`, `[1,`, `[1,]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{1:1}`, `"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", `01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`,
	`truex`, `nul`, `NaN`, `{} {}`, `1 2`, `[1 2]`, `{"a" 1}`, "\ufeff{}", `{"a":1}x`,
	strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
}

func TestDecode(t *testing.T) {
	for _, text := range texts {
		same(t, []byte(text))
	}
}

// FuzzDecode holds what is read, and what of it is written, to what encoding/json makes of it.
func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { same(t, text) })
}

func same(t *testing.T, text []byte) {
	t.Helper()
	var want any
	wantErr := json.Unmarshal(text, &want)
	got, err := plain.Decode(text)
	if err != nil && (strings.Contains(err.Error(), "inside of each other") || strings.Contains(err.Error(), "numbers as small as")) {
		return // it has bounds of its own
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%.200q: %v, and encoding/json says %v", text, err, wantErr)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%.200q is read as\n%.500v\nand not as\n%.500v", text, got, want)
	}
	if err != nil {
		return
	}
	written, err := plain.Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(want); string(again) != string(written) {
		t.Fatalf("%.200q is written as\n%s\nand not as\n%s", text, written, again)
	}
}

func TestEncode(t *testing.T) {
	for _, v := range []any{
		map[string]any(nil), []any(nil), 1, int64(7), "\x00\x1f\x7f<\xff>", math.Copysign(0, -1), 1e15, -1e15, 1e15 + 0.5, 0.1, 1e20, 1e-6, 9.9e-7, []string{"a"}, map[string]int{"b": 1},
		math.MaxFloat64, math.SmallestNonzeroFloat64, float64(1 << 53), json.Number("1.50"), json.RawMessage(`{ "a": 1 }`),
		time.Time{}, time.Date(2026, 11, 13, 20, 50, 0, 123456789, time.UTC), time.Date(2026, 11, 13, 20, 50, 0, 1e6, time.FixedZone("", -3*3600)),
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := plain.Encode(v); err != nil || string(got) != string(want) {
			t.Errorf("%#v is written as %s (%v), not as %s", v, got, err, want)
		}
	}
	for _, v := range []any{math.Inf(1), math.NaN(), func() {}, map[string]any{"a": []any{make(chan int)}}, map[string]any{"a": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		if got, err := plain.Encode(v); err == nil {
			t.Errorf("%#v is written as %s", v, got)
		}
	}
	deep := any("end")
	for range plain.Deepest + 1 {
		deep = []any{deep}
	}
	if _, err := plain.Encode(deep); err == nil {
		t.Error("a value is written that nobody could read")
	}
}

func TestMembers(t *testing.T) {
	var got []string
	err := plain.Members([]byte(` {"a" : {"b": 1 } , "c":"d","a":null, "e" : "\u00e9" } `), func(m plain.Member) error {
		got = append(got, fmt.Sprintf("%s %s %q %v", m.Name, m.Raw, m.Text(), m.Value()))
		return nil
	})
	if diff := cmp.Diff([]string{`a {"b": 1 } "" map[b:1]`, `c "d" "d" d`, `a null "" <nil>`, `e "\u00e9" "é" é`}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, text := range []string{``, `[]`, `null`, `{`, `{"a":}`, `{"a":"`, `{"a":1} x`} {
		if err := plain.Members([]byte(text), func(plain.Member) error { return nil }); err == nil {
			t.Errorf("%q has members", text)
		}
	}
}

// An object or a list is whole however many entries it has, and however many there are in those
// around it.
func TestDecodeMany(t *testing.T) {
	for n := range 70 {
		var object, list []string
		for i := range n {
			object = append(object, fmt.Sprintf(`"k%d":{"a":[%d,"x"],"b":[]}`, i, i))
			list = append(list, fmt.Sprintf(`{"a":"x","b":[%d,%d]}`, i, i+1))
		}
		same(t, []byte(`{`+strings.Join(object, ",")+`}`))
		same(t, []byte(`[`+strings.Join(list, ",")+`]`))
		same(t, []byte(`{"o":[`+strings.Join(list, ",")+`],"l":{`+strings.Join(object, ",")+`},"k":1,"k":2}`))
	}
}

// A text with accents that is written as it is read is not copied: it is part of the document.
func TestDecodeAccents(t *testing.T) {
	const written = `"Olá, João: são três às 10h?"`
	if got := testing.AllocsPerRun(100, func() { _, _ = plain.Decode(written) }); got > 1 {
		t.Errorf("%.0f allocations for a text that needs one", got)
	}
}

const delivery = `{"conversation":{"id":"0b2c5a8e-7a39-4d3c-9d4f-0b7a3f6f1c11","kind":"direct","channel_id":"5f0c","assignee":null,"label_ids":["a","b"]},"message":{"id":"m-1","text":"Bom dia, qual o horário de vocês?","direction":"in","created_at":"2026-11-15T10:00:00Z","from_me":false},"contact":{"id":"c-1","name":"Maria","phone":"+5511999990000"},"n":17}`

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plain.Decode([]byte(delivery)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	v, err := plain.Decode([]byte(delivery))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plain.Encode(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStandard(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var v any
		if err := json.Unmarshal([]byte(delivery), &v); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}
