package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/costtest"
)

func TestSaysWords(t *testing.T) {
	tests := []struct {
		text, condition string
		want            bool
	}{
		{"quero a 2ª via", `says("2a via")`, true},
		{"quero a 2ª via", `says("2ª via")`, true},
		{"quero a 2a via", `says("2ª VIA")`, true},
		{"pedido nº 5", `says("no 5")`, true},
		{"pedido no 5", `says("nº 5")`, true},
		{"pedido nº 5", `says("nº 6")`, false},

		{"o boletos chegou", `says("boleto")`, false},
		{"boletos", `says_like("boleto")`, true},
		{"boleto", `says_like("boletos")`, true},
		{"cartões", `says_like("cartão")`, true},
		{"cartao", `says_like("cartões")`, true},
		{"pães", `says_like("pão")`, true},
		{"mãos", `says_like("mão")`, true},
		{"papéis", `says_like("papel")`, true},
		{"flores", `says_like("flor")`, true},
		{"homens", `says_like("homem")`, true},
		{"fáceis", `says_like("fácil")`, true},
		{"invoices", `says_like("invoice")`, true},
		{"boxes", `says_like("box")`, true},
		{"box", `says_like("boxes")`, true},
		{"cities", `says_like("city")`, true},
		{"canciones", `says_like("canción")`, true},
		{"luces", `says_like("luz")`, true},
		{"luz", `says_like("luces")`, true},
		{"quero mais", `says_like("mal")`, false},
		{"os", `says_like("o")`, false},

		{"bolteo", `says_like("boleto")`, true},  // neighbours exchanged
		{"bloeto", `says_like("boleto")`, true},  // neighbours exchanged
		{"bolto", `says_like("boleto")`, true},   // one missing
		{"boletoo", `says_like("boleto")`, true}, // one too many
		{"bokeyo", `says_like("boleto")`, false}, // two wrong
		{"boketo", `says_like("boleto")`, true},  // one wrong
		{"casa", `says_like("caso")`, false},     // short
		{"casas", `says_like("caso")`, false},    // short, and a plural
		{"cancelamneto", `says_like("cancelamento")`, true},
		{"camcelameto", `says_like("cancelamento")`, true},
		{"camcelmeto", `says_like("cancelamento")`, false}, // three
		{"acncelamenot", `says_like("cancelamento")`, true},
		{"12345", `says_like("12346")`, false},
		{"quero a segnda via do bolero", `says_like("segunda via")`, true},
		{"a segunda do via", `says_like("segunda via")`, false},
		{"via segunda", `says_like("segunda via")`, false},
		{"segunda", `says_like("segunda via")`, false},
		{"cancelar", `says_like(["pagar", "cancelr"], "x")`, true},
		{"", `says_like("boleto")`, false},
	}
	for _, tt := range tests {
		w := newWorld()
		w.facts["message"] = map[string]any{"text": tt.text}
		rule := ruleIf(t, tt.condition)
		got, err := rules.NewEvaluation(t.Context(), rule, w).True(rule.If[0])
		if err != nil || got != tt.want {
			t.Errorf("%s of %q = %v, %v", tt.condition, tt.text, got, err)
		}
	}
}

// Hostile texts make says_like spend its budget, not the processor.
func TestSaysLikeIsCheap(t *testing.T) {
	rule := ruleIf(t, `says_like("aaaaaaaaab aaaaaaaaab aaaaaaaaab aaaaaaaaab zzzzzzzzzz", event.data.words)`)
	for name, text := range map[string]string{
		"words that are nearly alike": strings.Repeat("aaaaaaaaaa ", 100<<10),
		"one long word":               strings.Repeat("a", 1<<20),
		"short words":                 strings.Repeat("a ", 1<<20),
	} {
		for list, words := range map[string]any{"no": []any{}, "the text's": []any{text[1:], strings.Repeat("b", len(text)/2)}} {
			w := newWorld()
			w.facts["message"] = map[string]any{"text": text}
			w.facts["event"] = map[string]any{"data": map[string]any{"words": words}}
			costtest.Within(t, name+" with "+list+" words", costtest.Bound{JSON: 80}, func() {
				_, _ = rules.NewEvaluation(t.Context(), rule, w).True(rule.If[0])
			})
		}
	}
}

func TestExtractAndNumber(t *testing.T) {
	for _, tt := range []struct {
		expression string
		want       any
	}{
		{`extract("pedido 123-45, obrigado", "pedido ([0-9-]+)")`, "123-45"},
		{`extract("pedido 123", "[0-9]+")`, "123"},
		{`extract("pedido", "[0-9]+")`, nil},
		{`extract("pedido", "pedido( [0-9]+)?")`, nil},
		{`extract(contact.company, "a")`, nil},
		{`extract("x", "y") == "x"`, false},
		{`extract("x", "y") ?? "none"`, "none"},
		{`number(extract("R$ 10,50", "R.(.*)")) > 10`, true},
		{`number("x") == 3`, false},
		{`number("x") ?? 0`, 0},
		{`number(contact.company)`, nil},
		{`number(event.data.priority)`, 3.0},
	} {
		rule := oneRule(t, fmt.Sprintf("    do: [{ set: { x: %q } }]\n", "{{ "+tt.expression+" }}"))
		w := newWorld()
		got, err := rules.NewEvaluation(t.Context(), rule, w).Render(rule.Do[0].Assignment[0].Value)
		if err != nil || got != tt.want {
			t.Errorf("%s = %v (%T), %v, want %v", tt.expression, got, got, err, tt.want)
		}
	}

	rule := oneRule(t, "    do: [{ set: { x: \"{{ number(message.text) }}\" } }]\n")
	for text, want := range map[string]any{
		"1.234,56": 1234.56, "1,234.56": 1234.56, "R$ 1.234,56": 1234.56, "custa R$1.234,56!": 1234.56, "12": 12.0, "-3,5": -3.5, "−3,5": -3.5,
		"1.234": 1234.0, "1,234": 1234.0, "0.500": 0.5, "1,5": 1.5, "0.5": 0.5, "1234.567": 1234.567, "12.34": 12.34, "1.234.567": 1234567.0, "1,234,567.8": 1234567.8,
		"-R$ 10": -10.0, "R$ -10,00": -10.0, "pedido-5": 5.0, "10-20": 10.0, ".5": 0.5, "-,5": -0.5, "olá,5": 5.0, "50.": 50.0, "de 24.12.2026: 50,00": 50.0,
		"1,234.567.890": nil, "": nil, "nada": nil, "1.2.3": nil, strings.Repeat("9", 500): nil, "٣": nil, "1 234": 1.0,
	} {
		w := newWorld()
		w.facts["message"] = map[string]any{"text": text}
		got, err := rules.NewEvaluation(t.Context(), rule, w).Render(rule.Do[0].Assignment[0].Value)
		if err != nil || got != want {
			t.Errorf("number(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestDurationsInTexts shows that a text has a duration as people read it, and that everything else
// has the duration itself.
func TestDurationsInTexts(t *testing.T) {
	render := func(value string, age time.Duration) any {
		t.Helper()
		rule := oneRule(t, "    do: ["+value+"]\n")
		w := newWorld()
		w.facts["event"] = map[string]any{"age": age}
		v := rule.Do[0].Args["text"]
		if v == nil {
			v = rule.Do[0].Assignment[0].Value
		}
		got, err := rules.NewEvaluation(t.Context(), rule, w).Render(v)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const day = 24 * time.Hour
	for age, want := range map[time.Duration]string{
		0: "0 s", 438 * time.Millisecond: "0 s", 29_600 * time.Millisecond: "30 s", 59_600 * time.Millisecond: "1 min", 61 * time.Second: "1 min", 45 * time.Minute: "45 min",
		2*time.Hour + 10*time.Minute: "2 h 10 min", 3 * time.Hour: "3 h", 59*time.Minute + 40*time.Second: "1 h", day - time.Second: "1 d", day: "1 d",
		3*day + 4*time.Hour: "3 d 4 h", 4*day - 20*time.Minute: "4 d", -45 * time.Minute: "-45 min", 100 * day: "100 d", -1 << 63: "-106751 d 23 h",
	} {
		if got := render(`{ send_message: "waited {{ event.age }}." }`, age); got != "waited "+want+"." {
			t.Errorf("%s reads %q, want %s", age, got, want)
		}
		if got := render(`{ send_message: "{{ event.age }}" }`, age); got != want {
			t.Errorf("%s alone reads %q, want %s", age, got, want)
		}
		if got := render(`{ set: { x: "{{ event.age }}" } }`, age); got != age {
			t.Errorf("%s is set as %v", age, got)
		}
	}
	if got := oneRule(t, "    do: [{ wait: \"{{ duration('90s') }} of office\" }]\n").Do[0].Span.String(); got != "1m30s of office" {
		t.Errorf("a constant of 90s is a wait of %s", got)
	}
}

// TestLabelNames shows that the names of labels are looked up only for a rule that reads them, and
// only where there are labels.
func TestLabelNames(t *testing.T) {
	for _, tt := range []struct {
		condition, asked string
		want             bool
	}{
		{`"vip" in conversation.labels`, "conversation, labels of conversation", true},
		{`conversation.labels == ["vip", "new"] and len(conversation.labels) == 2`, "conversation, labels of conversation", true},
		{`"l1" in conversation.label_ids`, "conversation", true},
		{`"vip" in conversation?.labels`, "conversation, labels of conversation", true},
		{`len(contact.labels) == 0`, "contact", true},
		{`contact_has_label("vip")`, "contact, has_label", true},
	} {
		w := newWorld()
		w.labels = []string{"vip", "new"}
		rule := ruleIf(t, tt.condition)
		eval := rules.NewEvaluation(t.Context(), rule, w)
		got, err := eval.True(rule.If[0])
		if err != nil || got != tt.want {
			t.Errorf("%s = %v, %v", tt.condition, got, err)
		}
		if asked := strings.Join(w.asked, ", "); asked != tt.asked && asked != strings.TrimPrefix(tt.asked, "contact, ") {
			t.Errorf("%s asks for %s, want %s", tt.condition, asked, tt.asked)
		}
		if _, ok := w.facts["conversation"].(map[string]any)["labels"]; ok {
			t.Errorf("%s changes the fact, which others share", tt.condition)
		}
	}
}
