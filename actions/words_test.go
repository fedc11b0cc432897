package actions

import (
	"math"
	"testing"

	"github.com/quandohq/quando/rules/phrases"
)

func TestArgumentWords(t *testing.T) {
	for want, v := range map[string]any{
		"":            nil,
		"hello":       "hello",
		"vip, new":    []any{"vip", "new"},
		"a 1, b x, y": map[string]any{"b": []any{"x", "y"}, "a": 1}, // sorted by name
		"true":        true,
		"+Inf":        math.Inf(1), // JSON cannot represent it
	} {
		if got := ArgumentWords(v); got != want {
			t.Errorf("%v: %q, not %q", v, got, want)
		}
	}
}

func TestEffectWords(t *testing.T) {
	for _, c := range []struct {
		effect                           Effect
		would, did, wouldPT, didPT, text string
	}{
		{Effect{"send_message", "Marina", map[string]any{"text": "{who} [x]"}}, "send to Marina:", "sent to Marina:", "enviar a Marina:", "enviou a Marina:", "{who} [x]"},
		{Effect{"send_message", "Marina", map[string]any{"to": map[string]any{"phone": "+55"}, "media": "a.png"}}, "send to phone +55:", "sent to phone +55:", "enviar a phone +55:", "enviou a phone +55:", "a.png"},
		{Effect{"transfer", "Marina", map[string]any{"sector": "Support", "reason": "late"}}, "transfer Marina to Support", "transferred Marina to Support (late)", "transferir Marina para Support", "transferiu Marina para Support (late)", ""},
		{Effect{"transfer", "", map[string]any{"person": "Ana", "sector": "Support"}}, "transfer somebody to Ana", "transferred somebody to Ana", "transferir alguém para Ana", "transferiu alguém para Ana", ""},
		{Effect{"set_sector", "Marina", map[string]any{"sector": nil}}, "put Marina into the sector none", "put Marina into the sector none", "colocar Marina no setor nenhum", "colocou Marina no setor nenhum", ""},
		{Effect{"http_request", "", map[string]any{"url": "https://x.example/?token=abcdef0123456789"}}, "call POST https://x.example/?token=•••", "called POST https://x.example/?token=•••", "chamar POST https://x.example/?token=•••", "chamou POST https://x.example/?token=•••", ""},
		{Effect{"http_request", "", map[string]any{"method": "GET", "url": "https://x.example/o", "query": map[string]any{"of": "Ana"}}}, "call GET https://x.example/o with of Ana", "called GET https://x.example/o with of Ana", "chamar GET https://x.example/o com of Ana", "chamou GET https://x.example/o com of Ana", ""},
		{Effect{"of_a_later_version", "Marina", map[string]any{"n": 1}}, "of_a_later_version: Marina: n 1", "done of_a_later_version for Marina: n 1", "of_a_later_version: Marina: n 1", "fez of_a_later_version para Marina: n 1", ""},
		{Effect{"of_a_later_version", "Marina", nil}, "of_a_later_version: Marina", "done of_a_later_version for Marina", "of_a_later_version: Marina", "fez of_a_later_version para Marina", ""},
	} {
		would, text := c.effect.Would(phrases.English)
		did, _ := c.effect.Did(phrases.English)
		wouldPT, _ := c.effect.Would(phrases.Portuguese)
		didPT, _ := c.effect.Did(phrases.Portuguese)
		if would != c.would || did != c.did || wouldPT != c.wouldPT || didPT != c.didPT || text != c.text {
			t.Errorf("%v: %q %q %q %q %q", c.effect, would, did, wouldPT, didPT, text)
		}
	}
}
