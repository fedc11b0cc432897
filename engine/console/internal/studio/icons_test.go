package studio

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCardsHaveIcons shows that the sprite has an icon for every card.
func TestCardsHaveIcons(t *testing.T) {
	sprite, err := os.ReadFile("../../assets/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.AppendSeq([]string{"zap", "clock", iconOf("")}, maps.Values(icons))
	for _, g := range verbGroups {
		names = append(names, g.icon)
	}
	for _, name := range names {
		if !strings.Contains(string(sprite), `<symbol id="`+name+`"`) {
			t.Errorf("there is no icon %s", name)
		}
	}
}
