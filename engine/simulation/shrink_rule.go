package simulation

import (
	"slices"
	"strings"
	"time"
)

// A ruleEdit makes a rule smaller. It returns false if it does not apply.
type ruleEdit func(*Rule) bool

// inRules makes edits of scenarios from those of rules: each is made in the rule of that id, before
// and after a reload, and then after it alone.
func inRules(s *Scenario, of func(*Rule) []ruleEdit) (list []edit) {
	for i := range s.Rules {
		id := s.Rules[i].ID
		for _, do := range of(&s.Rules[i]) {
			list = append(list, func(s *Scenario) bool {
				done := false
				for _, rules := range [][]Rule{s.Rules, s.Other} {
					for r := range rules {
						if rules[r].ID == id {
							done = do(&rules[r]) || done
						}
					}
				}
				return done
			})
		}
	}
	for i := range s.Other {
		for _, do := range of(&s.Other[i]) {
			list = append(list, func(s *Scenario) bool { return do(&s.Other[i]) })
		}
	}
	return list
}

// stepLists returns all lists of steps of a rule, outer ones first.
func stepLists(r *Rule) (lists []*[]Step) {
	var walk func(*[]Step)
	walk = func(steps *[]Step) {
		lists = append(lists, steps)
		for i := range *steps {
			s := &(*steps)[i]
			if len(s.Do) > 0 {
				walk(&s.Do)
			}
			for b := range s.Branches {
				walk(&s.Branches[b].Do)
			}
		}
	}
	walk(&r.Do)
	walk(&r.OnError)
	return lists
}

// eachStep makes an edit of every step of a rule, found by its name.
func eachStep(r *Rule, of func(*Step) []func(*Step) bool) (list []ruleEdit) {
	everyStep([]Rule{*r}, func(s *Step) {
		for _, do := range of(s) {
			list = append(list, func(r *Rule) (done bool) {
				everyStep([]Rule{*r}, func(x *Step) {
					if x.Name == s.Name && x.Verb == s.Verb {
						done = do(x)
					}
				})
				return done
			})
		}
	})
	return list
}

// dropSteps removes steps, and replaces a choose or a for_each with its content.
func dropSteps(s *Scenario) []edit {
	return inRules(s, func(r *Rule) (list []ruleEdit) {
		list = append(list, func(r *Rule) bool { r.OnError = nil; return true })
		for l, steps := range stepLists(r) {
			for i := len(*steps) - 1; i >= 0; i-- {
				list = append(list, within(l, i, nil))
				if (*steps)[i].Verb == "for_each" {
					list = append(list, within(l, i, func(s *Step) []Step { return s.Do }))
				}
				for b := range (*steps)[i].Branches {
					list = append(list, within(l, i, func(s *Step) []Step { return at(s.Branches, b).Do }))
				}
			}
		}
		return append(list, eachStep(r, dropBranches)...)
	})
}

// within replaces a step, given by its list and its index, with others; nil removes it.
func within(l, i int, of func(*Step) []Step) ruleEdit {
	return func(r *Rule) bool {
		lists := stepLists(r)
		if l >= len(lists) || i >= len(*lists[l]) {
			return false
		}
		steps := lists[l]
		var instead []Step
		if of != nil {
			instead = of(&(*steps)[i])
		}
		if len(instead) == 0 && of != nil || len(*steps) == 1 && len(instead) == 0 && steps != &r.OnError {
			return false
		}
		*steps = slices.Replace(*steps, i, i+1, instead...)
		return true
	}
}

func at[T any](list []T, i int) (item T) {
	if i < len(list) {
		item = list[i]
	}
	return item
}

func dropBranches(s *Step) (list []func(*Step) bool) {
	for b := range s.Branches {
		list = append(list, func(s *Step) bool {
			if len(s.Branches) < 2 || b >= len(s.Branches) {
				return false
			}
			s.Branches = slices.Delete(s.Branches, b, b+1)
			return true
		})
	}
	return list
}

// dropConds takes conditions away, or parts of them.
func dropConds(s *Scenario) []edit {
	return inRules(s, func(r *Rule) (list []ruleEdit) {
		for i := range r.If {
			list = append(list, func(r *Rule) bool {
				if i >= len(r.If) {
					return false
				}
				r.If = slices.Delete(r.If, i, i+1)
				return true
			})
		}
		for i := range r.CancelOn {
			list = append(list, func(r *Rule) bool {
				if i >= len(r.CancelOn) {
					return false
				}
				r.CancelOn = slices.Delete(r.CancelOn, i, i+1)
				return true
			}, func(r *Rule) bool {
				if i >= len(r.CancelOn) {
					return false
				}
				r.CancelOn[i].If = nil
				return true
			})
		}
		list = append(list, eachStep(r, func(*Step) []func(*Step) bool {
			return []func(*Step) bool{
				func(s *Step) bool { s.If = nil; return true },
				func(s *Step) bool {
					if s.Verb == "wait_for" {
						s.Cond = nil
					}
					return true
				},
			}
		})...)
		n := 0
		everyCond([]Rule{*r}, func(c *Cond) {
			list = append(list, simplerCond(n, c)...)
			n++
		})
		return list
	})
}

// simplerCond makes the nth condition of a rule simpler.
func simplerCond(n int, c *Cond) (list []ruleEdit) {
	change := func(do func(*Cond)) {
		list = append(list, func(r *Rule) (done bool) {
			i := 0
			everyCond([]Rule{*r}, func(x *Cond) {
				if i == n && x.Kind == c.Kind {
					do(x)
					done = true
				}
				i++
			})
			return done
		})
	}
	for i := range c.Of {
		change(func(x *Cond) {
			if i < len(x.Of) {
				*x = x.Of[i]
			}
		})
	}
	if c.Not {
		change(func(x *Cond) { x.Not = false })
	}
	if c.N > 1 {
		change(func(x *Cond) { x.N-- })
	}
	return list
}

// dropKeys takes the keys of a rule away.
func dropKeys(s *Scenario) []edit {
	return inRules(s, func(r *Rule) []ruleEdit {
		var list []ruleEdit
		clear := func(set bool, do func(*Rule)) {
			if set {
				list = append(list, func(r *Rule) bool { do(r); return true })
			}
		}
		clear(r.Gather != nil, func(r *Rule) { r.Gather = nil })
		clear(r.Limit != nil, func(r *Rule) { r.Limit = nil })
		clear(r.Limit != nil && r.Limit.By != "", func(r *Rule) {
			if r.Limit != nil {
				r.Limit.By = ""
			}
		})
		clear(r.Limit != nil && r.Limit.Times > 1, func(r *Rule) {
			if r.Limit != nil {
				r.Limit.Times = 1
			}
		})
		clear(r.By != "", func(r *Rule) { r.By = "" })
		clear(r.Mode != "", func(r *Rule) { r.Mode = "" })
		clear(r.Stage != "", func(r *Rule) { r.Stage = "" })
		clear(r.Sample > 0 || r.Split != "", func(r *Rule) { r.Sample, r.Split = 0, "" })
		clear(r.FromAny, func(r *Rule) { r.FromAny = false })
		clear(r.Claimed, func(r *Rule) { r.Claimed = false })
		clear(r.Late != Late{}, func(r *Rule) { r.Late = Late{} })
		clear(r.Max > 0, func(r *Rule) { r.Max = 0 })
		clear(r.CancelOn != nil, func(r *Rule) { r.CancelOn = nil })
		clear(r.When.Each != "", func(r *Rule) { r.When.Each = "" })
		for i := range r.When.Events {
			clear(len(r.When.Events) > 1, func(r *Rule) {
				if len(r.When.Events) > 1 && i < len(r.When.Events) {
					r.When.Events = slices.Delete(r.When.Events, i, i+1)
				}
			})
		}
		return list
	})
}

// simplerSteps makes what steps do plainer and shorter.
func simplerSteps(s *Scenario) []edit {
	shorter := []time.Duration{time.Second, time.Minute, 10 * time.Minute, time.Hour}
	if s.Exact {
		shorter = []time.Duration{6 * time.Minute, 12 * time.Minute, 18 * time.Minute, 24 * time.Minute, 36 * time.Minute}
	}
	return inRules(s, func(r *Rule) []ruleEdit {
		return eachStep(r, func(s *Step) []func(*Step) bool {
			var list []func(*Step) bool
			change := func(useful bool, do func(*Step)) {
				if useful {
					list = append(list, func(s *Step) bool { do(s); return true })
				}
			}
			change(s.Continue, func(s *Step) { s.Continue = false })
			change(s.Retry > 0, func(s *Step) { s.Retry = 0 })
			change(s.ID != "", func(s *Step) { s.ID = "" })
			change(s.Claims, func(s *Step) { s.Claims = false })
			change(s.Until != "", func(s *Step) { s.Until, s.Wait = "", shorter[0] })
			change(s.Calendar != "", func(s *Step) { s.Calendar = "" })
			change(s.To != "" && s.Verb == "send_message", func(s *Step) { s.To = "" })
			change(s.OnlyFrom != "", func(s *Step) { s.OnlyFrom = "" })
			change(s.Person != "" && s.Sector != "", func(s *Step) { s.Person = "" })
			change(s.Verb == "create_card" && s.Stage != "", func(s *Step) { s.Stage = "" })
			change(s.Verb == "update_conversation" && s.Name2 != "", func(s *Step) { s.Name2 = "" })
			change(strings.HasPrefix(s.Text, "{{"), func(s *Step) { s.Text = Words[0] })
			change(len(s.Labels) > 1, func(s *Step) { s.Labels = s.Labels[:1] })
			change(len(s.Events) > 1, func(s *Step) { s.Events = s.Events[:1] })
			change(len(s.Items) > 1, func(s *Step) { s.Items = s.Items[:1] })
			change(len(s.Items) > 2, func(s *Step) { s.Items = s.Items[:(len(s.Items)+1)/2] })
			change(len(s.Items) > 1, func(s *Step) { s.Items = s.Items[:max(1, len(s.Items)-1)] })
			for _, d := range shorter {
				change(s.Wait > d, func(s *Step) { s.Wait = min(s.Wait, d) })
			}
			return list
		})
	})
}

// firstWord returns the first of several words.
func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
