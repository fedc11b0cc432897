package console

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/redact"
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

// showValue shows a value; names gives the names of ids. It hides what the reader may not see.
func showValue(v any, names func(id string) string, depth int) shown {
	return showSecret(v, 0, names, depth)
}

func showSecret(v any, secrecy redact.Secrecy, names func(id string) string, depth int) shown {
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
			member := showSecret(v[name], secrecy.Of(name), names, depth-1)
			member.Name = engine.Harmless(name)
			s.Members = append(s.Members, member)
		}
		return s
	case []any:
		return showList(v, secrecy, names, depth)
	case string:
		return showText(v, secrecy, names)
	case time.Time:
		return shown{Text: v.Format(time.RFC3339)}
	case time.Duration:
		return shown{Text: duration.Format(v)}
	}
	return shown{Text: engine.Harmless(fmt.Sprint(secrecy.Value(v)))}
}

func showList(list []any, secrecy redact.Secrecy, names func(id string) string, depth int) shown {
	if depth == 0 {
		return shown{Text: "…"}
	}
	s := shown{List: true}
	for i, item := range list {
		if i == shownMembers {
			s.Members = append(s.Members, shown{Text: "…"})
			break
		}
		s.Members = append(s.Members, showSecret(item, secrecy, names, depth-1))
	}
	return s
}

func showText(text string, secrecy redact.Secrecy, names func(id string) string) shown {
	if names != nil && len(text) < 100 && secrecy.Text(text) == text {
		if name := names(text); name != "" {
			return shown{Text: engine.Harmless(name), Title: engine.Harmless(text)}
		}
	}
	if r := []rune(text); len(r) > shownText {
		text = string(r[:shownText]) + "…"
	}
	lines := words.HarmlessLines(secrecy.Text(text))
	if len(lines) == 1 {
		return shown{Text: lines[0]}
	}
	return shown{Lines: lines}
}
