package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSamePhone(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"+55 11 98765-4321", "5511987654321", true},
		{"5511987654321", "551187654321", true},
		{"(11) 98765-4321", "+551187654321", true},
		{"011 98765-4321", "5511987654321", true},
		{"0055 11 98765 4321", "11987654321", true},
		{"5511987654321", "5521987654321", false},
		{"551140001234", "5511940001234", false}, // a landline has no ninth digit
		{"5511912345678", "551112345678", false}, // a mobile number too new to have had eight
		{"+1 202 555 0123", "12025550123", true},
		{"+1 202 555 0123", "5512025550123", false},
		{"+351 912 345 678", "351912345678", true},
		{"", "", false},
		{"group", "", false},
	} {
		if got := SamePhone(tc.a, tc.b); got != tc.want {
			t.Errorf("%q and %q: %v", tc.a, tc.b, got)
		}
		if SamePhone(tc.b, tc.a) != tc.want {
			t.Errorf("%q and %q: not the same both ways", tc.b, tc.a)
		}
	}
}

func TestPhoneCandidates(t *testing.T) {
	for phone, want := range map[string][]string{
		"+55 11 98765-4321": {"+55 11 98765-4321", "5511987654321", "551187654321", "87654321"},
		"551187654321":      {"551187654321", "5511987654321", "87654321"},
		"551140001234":      {"551140001234", "40001234"},
		"+12025550123":      {"+12025550123", "12025550123"},
		"nobody":            nil,
	} {
		if diff := cmp.Diff(want, PhoneCandidates(phone)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", phone, diff)
		}
	}
}

// searching answers a search with the objects whose text contains q.
func searching(objects map[string][]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var hits []string
		q := r.URL.Query()
		for path, list := range objects {
			for _, o := range list {
				archived := strings.Contains(o, `"archived":true`)
				if strings.HasSuffix(r.URL.Path, path) && strings.Contains(o, q.Get("q")) && q.Get("offset") == "" && archived == (q.Get("archived") == "true") {
					hits = append(hits, o)
				}
			}
		}
		answer(200, listOf(hits...))(w, r)
	}
}

func TestFindContact(t *testing.T) {
	c := setup(t, searching(map[string][]string{"/contacts": {`{"id":"1","phone":"5511987654329"}`, `{"id":"2","phone":"551187654321"}`}}))
	got, err := c.FindContact(t.Context(), "+55 (11) 98765-4321")
	if err != nil || got == nil || got.ID != "2" || got.Phone != "551187654321" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := c.FindContact(t.Context(), "+5511911112222"); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFindConversation(t *testing.T) {
	h := searching(map[string][]string{"/conversations": {
		`{"id":"group","kind":"group","phone":"5511987654321","channel_id":"main"}`,
		`{"id":"elsewhere","phone":"5511987654321","channel_id":"other"}`,
		`{"id":"here","phone":"551187654321","channel":{"id":"main"}}`,
		`{"id":"old","phone":"5521987654321","channel_id":"main","archived":true}`,
		`{"id":"by contact","contact_id":"7","channel_id":"main","name":"5531987654321"}`,
	}, "/contacts": {`{"id":"7","phone":"5531987654321"}`}})
	c := setup(t, h)
	for phone, want := range map[string]string{"5511987654321": "here", "5521987654321": "old", "+5531987654321": "by contact"} {
		if got, err := c.FindConversation(t.Context(), phone, "main"); err != nil || got == nil || got.ID != want {
			t.Errorf("%s: %+v, %v; want %s", phone, got, err, want)
		}
	}
	if got, err := c.FindConversation(t.Context(), "5541987654321", "main"); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := setup(t, answer(503, "{}")).FindConversation(t.Context(), "5541987654321", "main"); !IsTemporary(err) {
		t.Errorf("a failed search is not an empty one: %v", err)
	}
}
