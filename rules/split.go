package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Split is a rule's part in a group of rules that share the keys among them: each key belongs to
// exactly one rule of the group. A key is hashed with the group's name to a number from 0 to 1, and
// belongs to the rule with From <= number < To.
type Split struct {
	Group    string
	Rest     bool // it takes what the shares leave
	From, To float64

	share float64     // as the rule says it; 0 for the rest
	group *splitGroup // the rules that it was laid out with
}

// A splitGroup identifies rules of one group that were laid out together.
type splitGroup struct{ total float64 }

// sample reads a share of keys: a percentage, or a part of a group.
func (c *compiler) sample(n *source.Node) {
	if n.Kind != source.Mapping {
		c.rule.Sample = c.share(n)
		return
	}
	keys := []string{"share", "of", "rest"}
	if c.mapping(n, "sample", keys...); hasUnknown(n, keys) {
		return
	}
	share, of, rest := n.Get("share"), n.Get("of"), n.Get("rest")
	hint := say("as in { share: 10%%, of: greeting }, and { rest: greeting } in another rule")
	split, group := &Split{}, of
	switch {
	case share != nil && of != nil && rest == nil:
		split.share = c.share(share)
	case rest != nil && share == nil && of == nil:
		split.Rest, group = true, rest
	default:
		c.report(n, hint, "sample takes either share and of, or rest")
		return
	}
	name, ok := c.text(group, "the group of a sample")
	if !ok {
		return
	}
	if !ruleID.MatchString(name) {
		c.report(group, say("use small letters, digits and dashes"), "%q is not the name of a group", name)
		return
	}
	split.Group, c.rule.Split = name, split
}

// share reads a percentage.
func (c *compiler) share(n *source.Node) float64 {
	s, ok := c.static(n, "sample")
	if !ok {
		return 1
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || !(f > 0 && f <= 100) {
		c.report(n, say("as in %s", "10%"), "sample must be a percentage above 0%% and up to 100%%, not %q", s)
		return 1
	}
	return f / 100
}

// rounding is how far the sum of shares may be off.
const rounding = 1e-9

// layOut gives each rule of the groups its range: the shares in the order of the rules' ids, then
// the rest. Rules that were laid out together keep their ranges, also where some of them are left
// out. The rules are in the order of their ids.
func layOut(list []*Rule) {
	for _, members := range splitGroups(list) {
		first := members[0].Split.group
		if first != nil && !slices.ContainsFunc(members, func(r *Rule) bool { return r.Split.group != first }) {
			continue
		}
		slices.SortStableFunc(members, func(a, b *Rule) int { return compareFlags(a.Split.Rest, b.Split.Rest) })
		group := &splitGroup{}
		for _, r := range members {
			split := *r.Split // others may be reading the old one
			split.group, split.From = group, min(group.total, 1)
			if split.Rest {
				group.total = max(group.total, 1)
			} else if group.total += split.share; group.total > 1-rounding && group.total < 1+rounding {
				group.total = 1
			}
			split.To = min(group.total, 1)
			r.Split, r.Sample = &split, split.To-split.From
		}
	}
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// splitGroups returns the rules of each group, in the order of the list.
func splitGroups(list []*Rule) (groups [][]*Rule) {
	at := make(map[string]int)
	for _, r := range list {
		if r.Split == nil {
			continue
		}
		i, known := at[r.Split.Group]
		if !known {
			i = len(groups)
			at[r.Split.Group], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// reportSplits lays out the groups, and reports those whose parts do not fit together.
func (c *compiler) reportSplits() {
	layOut(c.set.Rules)
	broken := make(map[*Rule]Problems)
	for _, members := range splitGroups(c.set.Rules) {
		name, last := members[0].Split.Group, members[len(members)-1]
		rests := slices.DeleteFunc(slices.Clone(members), func(r *Rule) bool { return !r.Split.Rest })
		total := last.Split.group.total
		switch {
		case len(rests) > 1:
			c.breakSplit(broken, members, rests[1].Problem(source.Error, say("%s and %s both take the rest of %q", rests[0].ID, rests[1].ID, name), say("give all but one of them a share: { share: 10%%, of: %s }", name)))
		case total > 1:
			c.breakSplit(broken, members, last.Problem(source.Error, say("the shares of %q are %s%% together; at most 100%% are there to be split", name, percent(total)), say("make one of them smaller")))
		default:
			c.warnOfSplit(members, rests, total)
		}
	}
	for _, r := range c.set.Rules {
		if problems := broken[r]; problems != nil {
			c.set.Broken = append(c.set.Broken, Broken{ID: r.ID, File: r.File, Line: r.Line, Problems: problems})
		}
	}
	c.set.Rules = slices.DeleteFunc(c.set.Rules, func(r *Rule) bool { return broken[r] != nil })
}

// breakSplit breaks a whole group: with one rule less, the others would take other keys.
func (c *compiler) breakSplit(broken map[*Rule]Problems, members []*Rule, p Problem) {
	c.problems = append(c.problems, p)
	for _, r := range members {
		broken[r] = append(broken[r], p)
	}
}

// warnOfSplit warns of a group that leaves keys to no rule, or counts them differently.
func (c *compiler) warnOfSplit(members, rests []*Rule, total float64) {
	first := members[0]
	warn := func(r *Rule, hint *phrases.Message, format string, args ...any) {
		c.problems = append(c.problems, r.Problem(source.Warning, say(format, args...), hint))
	}
	name := first.Split.Group
	switch {
	case len(c.set.Broken) > 0: // the others may be among them
	case len(members) == len(rests):
		warn(first, say("give another rule a share: { share: 10%%, of: %s }", name), "no rule takes a share of %q, so the rest is all of it", name)
	case len(rests) == 0 && total < 1:
		warn(first, say("give another rule sample: { rest: %s }", name), "%s%% of %q are left to no rule", percent(1-total), name)
	case len(rests) == 1 && rests[0].Sample == 0:
		warn(rests[0], say("make one of the shares smaller"), "the shares of %q leave nothing for the rest", name)
	}
	for _, r := range members[1:] {
		switch {
		case !r.SameTrigger(first):
			warn(r, say("start them by the same"), "%s and %s split %q, but are started differently: a customer may be in both, or in none", first.ID, r.ID, name)
		case textOfKey(r.By) != textOfKey(first.By):
			warn(r, say("give them the same by"), "%s and %s split %q, but by different keys: a customer may be in both, or in none", first.ID, r.ID, name)
		}
	}
}

func textOfKey(x *Expression) string {
	if x == nil {
		return ""
	}
	return x.Text
}

// percent writes a share without its sign, with two digits at most.
func percent(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(100*share, 'f', 2, 64), "0"), ".")
}

// SameSample reports whether two versions of a rule take the same keys.
func (r *Rule) SameSample(other *Rule) bool {
	if r.Split == nil || other.Split == nil {
		return r.Split == other.Split && r.Sample == other.Sample
	}
	return r.Split.Group == other.Split.Group && r.Split.From == other.Split.From && r.Split.To == other.Split.To
}
