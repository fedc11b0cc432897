package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// fingerprint writes the rule as a self-contained text, and hashes what decides its behaviour.
func (c *compiler) fingerprint(n *source.Node) {
	var b strings.Builder
	var vars []string
	if c.file.vars != nil {
		for _, p := range c.file.vars.Pairs {
			if c.usedVars["*"] || c.usedVars[p.Key.Value] {
				vars = append(vars, p.Key.Flow()+": "+p.Value.Flow())
			}
		}
		slices.Sort(vars)
	}
	fmt.Fprintf(&b, "vars: {%s}\n", strings.Join(vars, ", "))
	b.WriteString("calendars:\n")
	for _, name := range slices.Sorted(maps.Keys(c.used)) {
		fmt.Fprintf(&b, "  %s: %s\n", name, c.sources[name])
	}
	head := b.String()
	if when := n.Get("when"); when != nil {
		c.rule.when = when.Flow()
	}
	c.rule.source = head + "rules: [" + n.Flow() + "]\n"
	sum := sha256.Sum256([]byte(head + ruleMeaning(n)))
	c.rule.Version = hex.EncodeToString(sum[:16])
}

// ruleMeaning writes the keys of a rule that decide its behaviour, in a fixed order.
func ruleMeaning(n *source.Node) string {
	var parts []string
	for _, p := range n.Pairs {
		switch p.Key.Value {
		case "name", "description", "tags":
		default:
			parts = append(parts, p.Key.Value+": "+p.Value.Flow())
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}
