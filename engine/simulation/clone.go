package simulation

import "slices"

// Clone returns a deep copy.
func (s *Scenario) Clone() *Scenario {
	c := *s
	c.Customers = slices.Clone(s.Customers)
	c.Rules, c.Other = cloneRules(s.Rules), cloneRules(s.Other)
	c.Story, c.Troubles = slices.Clone(s.Story), slices.Clone(s.Troubles)
	return &c
}

func cloneRules(rules []Rule) []Rule {
	out := slices.Clone(rules)
	for i := range out {
		r := &out[i]
		r.When.Events = slices.Clone(r.When.Events)
		r.Gather, r.Limit = clonePointer(r.Gather), clonePointer(r.Limit)
		r.If, r.CancelOn = cloneConds(r.If), slices.Clone(r.CancelOn)
		for m := range r.CancelOn {
			r.CancelOn[m].If = cloneCond(r.CancelOn[m].If)
		}
		r.Do, r.OnError = cloneSteps(r.Do), cloneSteps(r.OnError)
	}
	return out
}

func cloneSteps(steps []Step) []Step {
	out := slices.Clone(steps)
	for i := range out {
		s := &out[i]
		s.If, s.Cond = cloneCond(s.If), cloneCond(s.Cond)
		s.Labels, s.Events, s.Items = slices.Clone(s.Labels), slices.Clone(s.Events), slices.Clone(s.Items)
		s.Branches = slices.Clone(s.Branches)
		for b := range s.Branches {
			s.Branches[b] = Branch{If: cloneCond(s.Branches[b].If), Do: cloneSteps(s.Branches[b].Do)}
		}
		s.Do = cloneSteps(s.Do)
	}
	return out
}

func cloneConds(list []Cond) []Cond {
	out := slices.Clone(list)
	for i := range out {
		out[i].Of = cloneConds(out[i].Of)
	}
	return out
}

func cloneCond(c *Cond) *Cond {
	out := clonePointer(c)
	if out != nil {
		out.Of = cloneConds(out.Of)
	}
	return out
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	out := *p
	return &out
}
