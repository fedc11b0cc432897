package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
)

// TestTold shows that what the engine and its verbs record for people is told in Portuguese, and that what others wrote stays as it is.
func TestTold(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "the price list is wrong": "the price list is wrong",
		"limit: 1 per 12h": "limit: 1 por 12h", "mode: single, and run 7 is not finished": "mode: single, e a execução 7 não terminou",
		"step 2 (transfer): given up after 5 attempts: 503: unavailable":              "passo 2 (transfer): desistiu após 5 tentativas: 503: unavailable",
		"step 1.else.2 (move_card): the card is in Lead, and only_from says Proposal": "passo 1.else.2 (move_card): o cartão está em Lead, e only_from diz Proposal",
		"if: attendance.status == \"open\"\nand more":                                 "se: attendance.status == \"open\"\nand more",
		"safety: automatic messages to one conversation are bounded to 5 in 10m":      "segurança: mensagens automáticas para uma conversa são limitadas a 5 em 10m",
		"the attendance is closed already; the conversation's next one stays open":    "o atendimento já está encerrado; o seguinte da conversa continua aberto",
		"it cannot be told, because what it needs was not done: no card fits":         "não se pode dizer, porque aquilo de que precisa não foi feito: nenhum cartão serve",
		"if: %s%d%!": "se: %s%d%!",
	} {
		if got := Told(rules.Portuguese, text); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
		if got := Told(rules.English, text); got != text {
			t.Errorf("%q is told as %q in English", text, got)
		}
	}
}

// TestToldTexts shows that each text is one that is written somewhere, as it stands.
func TestToldTexts(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"*.go", "journal/*.go", "journal/sqlite/*.go", "journal/memory/*.go", "../actions/builtin/*.go", "../triggers/backfill/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if text, err := os.ReadFile(name); err == nil && name != "told.go" && !strings.HasSuffix(name, "_test.go") {
				code.Write(text)
			}
		}
	}
	for _, text := range toldTexts {
		there := false
		for _, verb := range []string{"%s", "%v", "%w", ""} {
			there = there || strings.Contains(code.String(), `"`+strings.ReplaceAll(text[0], "%r", verb)+`"`)
		}
		if before, _, _ := strings.Cut(text[0], "%"); !there && !strings.Contains(code.String(), `"`+before+`"`) {
			t.Errorf("nobody writes %q", text[0])
		}
	}
}
