package studio

import (
	"os"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
)

// TestCardsHaveIcons shows that the sprite has an icon for every card.
func TestCardsHaveIcons(t *testing.T) {
	sprite, err := os.ReadFile("../../assets/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	m := &Maker{Catalog: builtin.Catalog()}
	names := []string{"zap", "clock", m.iconOf("")}
	for _, verb := range m.Catalog.Verbs() {
		names = append(names, m.iconOf(verb))
	}
	for _, name := range names {
		if !strings.Contains(string(sprite), `<symbol id="`+name+`"`) {
			t.Errorf("there is no icon %s", name)
		}
	}
}
