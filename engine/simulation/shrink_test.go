package simulation

import (
	"reflect"
	"slices"
	"testing"
)

// hasVerb reports whether a live rule has a step.
func hasVerb(s *Scenario, verb string) (found bool) {
	everyStep(s.Rules, func(x *Step) { found = found || x.Verb == verb })
	return found
}

// What remains of a failure is little more than its cause, fails as the whole did, and is the same
// every time.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	laws := map[string]func(*Scenario) bool{
		"a crash, and a wait_for": func(s *Scenario) bool {
			return hasVerb(s, "wait_for") && slices.ContainsFunc(s.Troubles, func(x Trouble) bool { return x.Kind == TroubleCrash })
		},
		"a choose, and two messages": func(s *Scenario) bool {
			said := 0
			for _, a := range s.Story {
				if a.Kind == ActSays {
					said++
				}
			}
			return hasVerb(s, "choose") && said >= 2
		},
		"a for_each of three": func(s *Scenario) (found bool) {
			everyStep(s.Rules, func(x *Step) { found = found || len(x.Items) >= 3 })
			return found
		},
		"a wait_for that claims": func(s *Scenario) (found bool) {
			everyStep(s.Rules, func(x *Step) { found = found || x.Claims })
			return found
		},
		"a reload": func(s *Scenario) bool {
			return len(s.Other) > 0 && slices.ContainsFunc(s.Story, func(a Act) bool { return a.Kind == ActReloads })
		},
	}
	for name, law := range laws {
		t.Run(name, func(t *testing.T) {
			shrunk := 0
			for seed := uint64(0); shrunk < 6 && seed < 400; seed++ {
				s := Generate(seed)
				if !law(s) {
					continue
				}
				shrunk++
				whole := s.Clone()
				small := Shrink(s, law, 3000)
				if !reflect.DeepEqual(s, whole) {
					t.Fatalf("seed %d was changed itself", seed)
				}
				if !law(small) || small.Compiles() != nil || small.Exact && !keeps(small) {
					t.Fatalf("seed %d: what remains does not fail as the whole did, or is not right any more: %v\n%s", seed, small.Compiles(), small.YAML(small.Rules))
				}
				steps := 0
				everyStep(small.Rules, func(*Step) { steps++ })
				if len(small.Rules) > 1 || steps > 3 || len(small.Story) > 2 || len(small.Troubles) > 1 || len(small.Customers) > 1 || len(small.Rules[0].If) > 0 {
					t.Errorf("seed %d is not small: %d acts, %d troubles, %d customers\n%s", seed, len(small.Story), len(small.Troubles), len(small.Customers), small.YAML(small.Rules))
				}
				if again := Shrink(whole, law, 3000); !reflect.DeepEqual(small, again) {
					t.Errorf("seed %d comes to something else when it is shrunk again", seed)
				}
			}
			if shrunk < 3 {
				t.Fatalf("only %d scenarios fail", shrunk)
			}
		})
	}
}

func TestShrinkKeepsToItsBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for seed := range uint64(20) {
		s, tries := Generate(seed), 0
		small := Shrink(s, func(*Scenario) bool { tries++; return tries%3 == 0 }, 25)
		if tries > 25 {
			t.Errorf("seed %d: %d tries", seed, tries)
		}
		if small == nil {
			t.Errorf("seed %d: nothing is left", seed)
		}
		if whole := Shrink(s, func(*Scenario) bool { return false }, 50); !reflect.DeepEqual(whole, s) {
			t.Errorf("seed %d: something was taken away that was needed", seed)
		}
	}
}
