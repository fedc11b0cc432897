package phrases

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

// TestPhrase shows that a phrase says the same before and after it was recorded, in each language,
// and that what others wrote stays as it is.
func TestPhrase(t *testing.T) {
	unavailable := errors.New("503: unavailable")
	for _, c := range []struct {
		phrase              *Phrase
		english, portuguese string
	}{
		{New(Limit, 1, "12h"), "limit: 1 per 12h", "limit: 1 por 12h"},
		{New(StepFailed, "2", "transfer", New(GivenUp, 5, unavailable)), "step 2 (transfer): given up after 5 attempts: 503: unavailable", "passo 2 (transfer): desistiu após 5 tentativas: 503: unavailable"},
		{New(StepFailed, "1.else.2", "move_card", New(CardElsewhere, "Lead", "Proposal")), "step 1.else.2 (move_card): the card is in Lead, and only_from says Proposal", "passo 1.else.2 (move_card): o cartão está em Lead, e only_from diz Proposal"},
		{New(CannotTell, fmt.Errorf("%w", New(NoCardFits))), "it cannot be told, because what it needs was not done: no card fits", "não se pode dizer, porque aquilo de que precisa não foi feito: nenhum cartão serve"},
		{New(If, `text == "%s%d%!"`), `if: text == "%s%d%!"`, `se: text == "%s%d%!"`},
		{New(Else), "else", "senão"},
		{New(StepFailed, "1", "log", Text("else")), "step 1 (log): else", "passo 1 (log): else"},
	} {
		text, err := json.Marshal(c.phrase)
		if err != nil {
			t.Fatal(err)
		}
		var read *Phrase
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, p := range []*Phrase{c.phrase, read} {
			if got := p.In(English); got != c.english {
				t.Errorf("%s is %q in English, want %q", text, got, c.english)
			}
			if got := p.In(Portuguese); got != c.portuguese {
				t.Errorf("%s is %q in Portuguese, want %q", text, got, c.portuguese)
			}
		}
	}
}

// TestTold shows that only a text that a phrase belongs to is told in its words.
func TestTold(t *testing.T) {
	for _, c := range []struct {
		text string
		why  *Phrase
		want string
	}{
		{"", nil, ""},
		{"else", nil, "else"}, // a person wrote it
		{"else", New(Else), "senão"},
		{"limit: 3 per 12h", New(Limit, 1, "12h"), "limit: 3 per 12h"},
		{"something newer", New("reason.of_a_later_version"), "something newer"},
	} {
		if got := Told(Portuguese, c.text, c.why); got != c.want {
			t.Errorf("%q is told as %q, want %q", c.text, got, c.want)
		}
		if got := Told(English, c.text, c.why); got != c.text {
			t.Errorf("%q is told as %q in English", c.text, got)
		}
	}
	if Text("").Coded() != nil || Text("x").Coded() != nil || (*Phrase)(nil).In(Portuguese) != "" {
		t.Error("a text of others has a code")
	}
}
