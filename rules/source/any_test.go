package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/source"
)

func TestAny(t *testing.T) {
	f, problems := source.Read("data.yaml", []byte(`{count: 3, share: 0.5, below: -0.5, code: 0119, octal: 0117, phone: +5511988887777, quoted: "3", yes: true, none: null, list: [1, a]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := map[string]any{
		"count": 3, "share": 0.5, "below": -0.5, "code": "0119", "octal": "0117", "phone": "+5511988887777", "quoted": "3", "yes": true, "none": nil, "list": []any{1, "a"},
	}
	if diff := cmp.Diff(want, f.Root.Any()); diff != "" {
		t.Error(diff)
	}
}
