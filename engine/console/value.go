package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// A shown value is a recorded one as a page shows it: a text, a list, or members with their names.
type shown struct {
	Text    string
	Lines   []string
	Title   string // an id whose name is shown
	Name    string // of a member
	Members []shown
	List    bool
}

// Most of what a value can hold is not worth a page.
const (
	shownMembers = 50
	shownDepth   = 6
	shownText    = 4000 // characters
)

// showValue shows a value; names gives the names of ids. What must not be told is left out by the names of members.
func showValue(v any, names func(id string) string, depth int) shown {
	switch v := v.(type) {
	case nil:
		return shown{Text: "–"}
	case map[string]any:
		if depth == 0 {
			return shown{Text: "…"}
		}
		s := shown{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(s.Members) == shownMembers {
				s.Members = append(s.Members, shown{Name: "…"})
				break
			}
			member := showValue(v[name], names, depth-1)
			if text, ok := v[name].(string); ok && text != "" && isSecretMember(name) {
				member = shown{Text: "•••"}
			}
			member.Name = engine.Harmless(name)
			s.Members = append(s.Members, member)
		}
		return s
	case []any:
		return showList(v, names, depth)
	case string:
		return showText(v, names)
	case time.Time:
		return shown{Text: v.Format(time.RFC3339)}
	case time.Duration:
		return shown{Text: rules.FormatDuration(v)}
	case json.Number:
		return shown{Text: v.String()}
	}
	return shown{Text: engine.Harmless(fmt.Sprint(v))}
}

func showList(list []any, names func(id string) string, depth int) shown {
	if depth == 0 {
		return shown{Text: "…"}
	}
	s := shown{List: true}
	for i, item := range list {
		if i == shownMembers {
			s.Members = append(s.Members, shown{Text: "…"})
			break
		}
		s.Members = append(s.Members, showValue(item, names, depth-1))
	}
	return s
}

func showText(text string, names func(id string) string) shown {
	if names != nil && len(text) < 100 {
		if name := names(text); name != "" {
			return shown{Text: engine.Harmless(name), Title: engine.Harmless(text)}
		}
	}
	if r := []rune(text); len(r) > shownText {
		text = string(r[:shownText]) + "…"
	}
	lines := harmlessLines(withoutKeys(text))
	if len(lines) == 1 {
		return shown{Text: lines[0]}
	}
	return shown{Lines: lines}
}

// isSecretMember is narrower than what is kept from the journal: people may see an idempotency key or a key of a map.
func isSecretMember(name string) bool {
	name = strings.ToLower(name)
	return actions.IsSecret(name) && name != "key" && !strings.Contains(name, "idempotency")
}

// cutText shortens a text to a number of characters.
func cutText(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
