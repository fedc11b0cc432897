package builtin_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service/sandbox"
)

// TestVerbsHaveWords shows that every verb and argument has a name for people, that an effect can
// be put into words as done and as to be done, and that these words name arguments that the verb
// has.
func TestVerbsHaveWords(t *testing.T) {
	named := regexp.MustCompile(`[{|]([a-z_]+)`)
	for _, s := range builtin.Schemas() {
		codes := []phrases.Code{"verb." + phrases.Code(s.Verb)}
		for _, arg := range s.Args {
			codes = append(codes, "field."+phrases.Code(arg.Name))
		}
		if !s.OnlyReads() {
			codes = append(codes, codes[0]+".would", codes[0]+".did")
		}
		for _, code := range codes {
			for _, m := range named.FindAllStringSubmatch(phrases.Say(phrases.English, code), -1) {
				if !slices.Contains([]string{"who", "arguments"}, m[1]) && !slices.ContainsFunc(s.Args, func(a rules.Arg) bool { return a.Name == m[1] }) {
					t.Errorf("%s tells the argument %s, which the verb does not have", code, m[1])
				}
			}
			if !phrases.Knows(code) {
				t.Errorf("there is no text for %s", code)
			}
		}
	}
}

// TestVerbsHaveOperations shows that the operation of each verb that changes something in the
// service exists there, and needs a scope that the verb names. A verb without scopes changes
// nothing there.
func TestVerbsHaveOperations(t *testing.T) {
	operations := sandbox.Operations()
	for _, s := range builtin.Schemas() {
		operation := builtin.Operation(s.Verb)
		i := slices.IndexFunc(operations, func(o sandbox.Operation) bool { return o.Name == operation })
		switch {
		case s.OnlyReads() || len(s.Scopes) == 0:
			if operation != "" {
				t.Errorf("%s changes something: %s", s.Verb, operation)
			}
		case i < 0:
			t.Errorf("%s: the service has no operation %q", s.Verb, operation)
		case !slices.Contains(s.Scopes, operations[i].Scope):
			t.Errorf("%s needs the scope %s and names %s", s.Verb, operations[i].Scope, strings.Join(s.Scopes, ", "))
		}
	}
}
