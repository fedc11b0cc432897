package config

import (
	"strings"

	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// MCP says which assistants may call, and what they are told.
type MCP struct {
	Tokens    map[string]console.AssistantToken
	Customers bool // answers have what customers wrote, and their names and phones
}

func (m *MCP) settings() settings {
	return settings{
		{"mcp.tokens", assistants(&m.Tokens)},
		{"mcp.customers", yesOrNo(&m.Customers)},
	}
}

// assistants reads the tokens of assistants: { claude: { role: editor, token: "${CLAUDE_TOKEN}" }
// }.
func assistants(to *map[string]console.AssistantToken) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		if n.Kind != source.Mapping {
			d.report(n, say("as in %s", "tokens: { claude: { role: editor, token: \"${CLAUDE_TOKEN}\" } }"), "mcp.tokens must be a mapping of names, not %s", n.Kind)
			return
		}
		*to = make(map[string]console.AssistantToken)
		for _, p := range n.Pairs {
			var role string
			var token service.Secret
			var shadow bool
			before := len(d.problems)
			d.mapping(p.Value, "", settings{{"role", choice(&role, "viewer", "editor")}, {"token", secret(&token)}, {"shadow", yesOrNo(&shadow)}})
			if len(d.problems) > before {
				continue
			}
			if written := p.Value.Get("token"); written != nil && !variable.MatchString(written.Value) && !strings.HasPrefix(written.Value, "sha256:") {
				d.report(written, say("write %s, or its hash as sha256:…", "\"${"+strings.ToUpper(strings.ReplaceAll(p.Key.Value, "-", "_"))+"_TOKEN}\""), "the token of %s stands in the file, where others can read it", p.Key.Value)
				continue
			}
			known, err := console.ParseRole(role)
			one := console.AssistantToken{Role: known, Shadow: shadow}
			if err == nil {
				one.Sum, err = console.SumToken(string(token))
			}
			if err != nil {
				d.report(p.Value, say("as in %s", "{ role: editor, token: \"${CLAUDE_TOKEN}\" }"), "the assistant %s: %v", p.Key.Value, err)
				continue
			}
			(*to)[p.Key.Value] = one
		}
	}
}
