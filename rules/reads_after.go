package rules

import "regexp"

// ReadsAfter reports whether what comes after a step in the rule may read a name: that of a step's result, or of a fact that it gives. A step inside of
// a loop comes after itself.
func (r *Rule) ReadsAfter(step *Step, name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	found, behind := false, false
	var loop *Step
	for s := range r.Steps() {
		if s.Verb == "for_each" && !behind {
			loop = s
		}
		if s == step {
			behind = true
			if loop != nil && inLoop(loop, step) {
				return r.ReadsAfter(loop, name) || stepsRead(loop.Do, word)
			}
			continue
		}
		found = found || behind && s.reads(word)
	}
	return found
}

func inLoop(loop, step *Step) bool {
	return !walkSteps(loop.Do, func(s *Step) bool { return s != step })
}

func stepsRead(list []*Step, word *regexp.Regexp) bool {
	return !walkSteps(list, func(s *Step) bool { return !s.reads(word) })
}

// reads reports whether an expression of the step has a word in it, as a name or otherwise.
func (s *Step) reads(word *regexp.Regexp) bool {
	found := false
	look := func(x *Expression) { found = found || x != nil && word.MatchString(x.Text) }
	for _, x := range []*Expression{s.If, s.Condition, s.In} {
		look(x)
	}
	for _, b := range s.Branches {
		look(b.If)
	}
	for _, v := range s.Args {
		v.expressions(look)
	}
	for _, a := range s.Assignment {
		a.Value.expressions(look)
	}
	return found
}

// expressions goes through the expressions of a value.
func (v *Value) expressions(look func(*Expression)) {
	look(v.whole)
	for _, p := range v.pieces {
		look(p.expression)
	}
	for _, item := range v.list {
		item.expressions(look)
	}
	for _, f := range v.fields {
		f.Value.expressions(look)
	}
}
