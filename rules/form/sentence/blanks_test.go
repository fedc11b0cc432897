package sentence_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
)

// TestChips shows that every chip of every sentence names a term of it, and that another one can be
// put there.
func TestChips(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*seed, 2))
	var list []sentence.Condition
	for _, o := range (sentence.Scope{}).Offers(phrases.English) {
		list = append(list, o.Condition)
	}
	for range 500 {
		_, c := formtest.Conditions{Rand: r, Gathers: true}.Sentence(2)
		list = append(list, c)
	}
	list = append(list, sentence.Read("let x = 1; x == 1"))
	other := sentence.Term{Kind: sentence.Name, Text: "vars.another"}
	chips := 0
	for _, c := range list {
		was := sentence.Print(c)
		for _, p := range (sentence.Scope{}).Pieces(phrases.Portuguese, c) {
			if p.Blank == "" {
				continue
			}
			chips++
			old, ok := c.At(p.Blank)
			if !ok {
				t.Fatalf("%s has no %s, which a chip is of", was, p.Blank)
			}
			changed := c.With(p.Blank, other)
			if got, _ := changed.At(p.Blank); got.Text != other.Text {
				t.Errorf("%s of %s is %v after it was changed", p.Blank, was, got)
			}
			if sentence.Print(changed) == was || sentence.Print(c) != was || !changed.With(p.Blank, old).Same(c) {
				t.Errorf("%s: with another %s it is %s", was, p.Blank, sentence.Print(changed))
			}
		}
	}
	if chips < 500 {
		t.Errorf("only %d chips", chips)
	}
}
