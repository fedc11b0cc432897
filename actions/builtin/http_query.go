package builtin

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxAddress bounds a URL with its query.
const maxAddress = 64 << 10

// withQuery adds names and values to the query of a URL. The names are sorted, so that a repeated
// plan gives the same URL.
func withQuery(address string, query any) (string, error) {
	given, _ := query.(map[string]any)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list, ok := given[name].([]any)
		if !ok {
			list = []any{given[name]}
		}
		for _, v := range list {
			if v == nil {
				continue
			}
			text, err := queryText(v)
			if err != nil {
				return "", fmt.Errorf("query: %s %w", name, err)
			}
			if len(address)+b.Len()+len(text) > maxAddress {
				return "", fmt.Errorf("the url is longer than %d KiB with its query", maxAddress>>10)
			}
			b.WriteString("&" + escapeQuery(name) + "=" + escapeQuery(text))
		}
	}
	added := strings.TrimPrefix(b.String(), "&")
	if added == "" {
		return address, nil
	}
	address, _, _ = strings.Cut(address, "#") // which is never sent
	switch {
	case !strings.Contains(address, "?"):
		return address + "?" + added, nil
	case strings.HasSuffix(address, "?"), strings.HasSuffix(address, "&"):
		return address + added, nil
	}
	return address + "&" + added, nil
}

// queryText returns a value of a query as text. A time is written as in JSON, a
// duration in seconds.
func queryText(v any) (string, error) {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339), nil
	case time.Duration:
		return textOf(v.Seconds()), nil
	case []any, map[string]any:
		return "", errors.New("has a list or an object among its values: give each a name of its own, or send it as json")
	}
	return textOf(v), nil
}

// escapeQuery escapes a name or a value of a query. A space becomes %20, which every system reads,
// and not all read a plus.
func escapeQuery(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
