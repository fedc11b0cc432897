package rules

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quandohq/quando/rules/internal/spelling"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/rules/source"
)

// lookups are the scopes of the calls that turn a name into an id.
var lookups = map[string]string{
	"label": "contacts:read", "sector": "team:read", "person": "team:read", "channel": "conversations:read", "board": "read", "stage": "read", "contact": "contacts:read",
}

// argument compiles one argument of an action.
func (c *compiler) argument(n *source.Node, a *Arg, env *environment) *Value {
	if n.Kind == source.Null {
		if !a.Null {
			c.report(n, nil, "%s is empty", a.Name)
			return nil
		}
		return &Value{}
	}
	switch a.Kind {
	case KindText, KindName:
		v := c.scalar(n, a, env, Text)
		c.mention(n, a, v)
		c.within(n, a, v)
		if a.Address && v != nil {
			c.address(n, v)
		}
		return v
	case KindNames:
		return c.namesValue(n, a, env)
	case KindFlag:
		if b, ok := n.Bool(); ok {
			return &Value{constant: b}
		}
		return c.whole(n, a, env, Flag)
	case KindNumber:
		if i, err := strconv.Atoi(n.Value); n.Kind == source.Scalar && err == nil {
			if a.Max > 0 && (i < a.Min || i > a.Max) {
				c.report(n, nil, "%s must be from %d to %d, not %d", a.Name, a.Min, a.Max, i)
			}
			return &Value{constant: i}
		}
		return c.whole(n, a, env, Number)
	case KindChoice:
		return c.choiceValue(n, a, env)
	case KindDuration:
		if d, ok := c.duration(n, phrases.Word(a.Name)); ok {
			return &Value{constant: d}
		}
		return nil
	case KindWhen:
		return c.whenValue(n, a, env)
	case KindFields, KindTarget:
		return c.fieldsValue(n, a, env)
	case KindHeaders:
		return c.headersValue(n, a, env)
	case KindQuery:
		return c.queryValue(n, a, env)
	case KindNumbers:
		return c.numbersValue(n, a)
	case KindZone:
		if loc := c.zone(n); loc != nil {
			return &Value{constant: n.Value}
		}
		return nil
	}
	return c.data(n, env)
}

// scalar compiles a text with {{ }} in it. A whole {{ expression }} keeps its type, which must fit.
func (c *compiler) scalar(n *source.Node, a *Arg, env *environment, want *Type) *Value {
	if n.Kind != source.Scalar {
		var hint *phrases.Message
		if n.Kind == source.Mapping && strings.HasPrefix(strings.TrimSpace(lineOf(n)), "{{") {
			hint = say("a text that begins with {{ needs quotes around it")
		}
		c.report(n, hint, "%s must be a text, not %s", a.Name, n.Kind)
		return nil
	}
	if strings.TrimSpace(n.Value) == "" {
		c.report(n, nil, "%s is empty", a.Name)
		return nil
	}
	segments, unclosed := template.Split(n.Value)
	v := c.template(n, segments, env, want)
	if unclosed >= 0 {
		c.add(neverClosed(n, unclosed))
		return nil
	}
	c.singleBraces(n, segments)
	return v
}

// singleBrace is a fact between single braces, as other tools write it.
var singleBrace = regexp.MustCompile(`\$?\{ *((?:contact|conversation|message|attendance|card|event|vars|steps)\.[\w.]+) *\}`)

// placeholders are names that other tools put a value in the place of, with the fact that has it.
var placeholders = map[string]string{
	"nome": "contact.name", "name": "contact.name", "first_name": "contact.name", "primeiro_nome": "contact.name", "cliente": "contact.name", "customer": "contact.name", "customer_name": "contact.name",
	"telefone": "contact.phone", "phone": "contact.phone", "empresa": "contact.company", "company": "contact.company", "cidade": "contact.city", "protocolo": "attendance.protocol", "protocol": "attendance.protocol",
	"atendente": "conversation.assignee_name", "agent": "conversation.assignee_name", "setor": "conversation.sector_name",
}

var placeholder = regexp.MustCompile(`(?i)[\[{<%](` + strings.Join(slices.Sorted(maps.Keys(placeholders)), "|") + `)[\]}>%]`)

// singleBraces reports a name that would be sent as it stands.
func (c *compiler) singleBraces(n *source.Node, segments []template.Segment) {
	for _, s := range segments {
		if at := strings.Index(s.Text, "{%"); !s.Expression && at >= 0 && strings.Contains(s.Text[at:], "%}") {
			c.add(n.AtOffset(s.Offset+at, source.Error, say("{%% %%} means nothing here, and would stay in the text as it is written"), say("write {{ condition ? \"this\" : \"that\" }}, or take the step in a `choose`")))
			return
		}
		if at := placeholder.FindStringSubmatchIndex(s.Text); !s.Expression && at != nil {
			c.add(n.AtOffset(s.Offset+at[0], source.Warning, say("%s stays as it is written", s.Text[at[0]:at[1]]), say("write {{ %s }} for its value", placeholders[strings.ToLower(s.Text[at[2]:at[3]])])))
		}
		if at := singleBrace.FindStringSubmatchIndex(s.Text); !s.Expression && at != nil {
			c.add(n.AtOffset(s.Offset+at[0], source.Warning, say("%s stays as it is written", s.Text[at[0]:at[1]]), say("write {{ %s }} for its value", s.Text[at[2]:at[3]])))
		}
	}
}

// within reports a literal text that is not a valid value.
func (c *compiler) within(n *source.Node, a *Arg, v *Value) {
	if v == nil {
		return
	}
	s, written := v.constant.(string)
	switch {
	case !written:
	case a.Longest > 0 && utf8.RuneCountInString(s) > a.Longest:
		c.report(n, nil, "%s has %d characters; at most %d are allowed", a.Name, utf8.RuneCountInString(s), a.Longest)
	case a.Refers == "media" && !plain.IsUUID(s) && !fs.ValidPath(s):
		c.report(n, say("a file in the folder media beside the rules"), "%q is no file's name", s)
	}
}

func (c *compiler) headersValue(n *source.Node, a *Arg, env *environment) *Value {
	if n.Kind != source.Mapping {
		c.report(n, say("as in %s", "{ Accept: application/json }"), "%s must be a mapping of names to texts, not %s", a.Name, n.Kind)
		return nil
	}
	v := &Value{fields: []Setting{}}
	for _, p := range n.Pairs {
		value := c.scalar(p.Value, &Arg{Name: p.Key.Value}, env, Text)
		if value == nil {
			return nil
		}
		v.fields = append(v.fields, Setting{p.Key.Value, value})
	}
	return v
}

// lineOf returns the text from the node to the end of its line.
func lineOf(n *source.Node) string {
	p := n.At(source.Error, nil, nil)
	if r := []rune(p.Text); p.Column-1 < len(r) {
		return string(r[p.Column-1:])
	}
	return ""
}

// template compiles the segments of a text. With want Text, values that do not read as a text are
// refused.
func (c *compiler) template(n *source.Node, segments []template.Segment, env *environment, want *Type) *Value {
	if len(segments) == 1 && !segments[0].Expression {
		return &Value{constant: segments[0].Text}
	}
	v := &Value{}
	ok := true
	for _, s := range segments {
		if !s.Expression {
			v.pieces = append(v.pieces, piece{text: s.Text})
			continue
		}
		x := c.expressionAt(n, s.Offset, s.Text, env, nil)
		if x == nil {
			ok = false
			continue
		}
		if want == Text && len(x.result.fields) > 0 {
			c.add(n.AtOffset(s.Offset, source.Error, say("%s is an object and does not read as a text", s.Text), wantHint(s.Text, x.result, Text)))
			ok = false
			continue
		}
		v.pieces = append(v.pieces, piece{expression: x})
	}
	if !ok {
		return nil
	}
	if len(v.pieces) == 1 {
		return &Value{whole: v.pieces[0].expression, text: want == Text}
	}
	return v
}

// whole compiles a value that must be one {{ expression }} of a type.
func (c *compiler) whole(n *source.Node, a *Arg, env *environment, want *Type) *Value {
	if n.Kind == source.Scalar {
		segments, unclosed := template.Split(n.Value)
		if unclosed >= 0 {
			c.add(neverClosed(n, unclosed))
			return nil
		}
		if len(segments) == 1 && segments[0].Expression {
			if x := c.expressionAt(n, segments[0].Offset, segments[0].Text, env, want); x != nil {
				return &Value{whole: x}
			}
			return nil
		}
	}
	if n.Kind == source.Scalar {
		var hint *phrases.Message
		if want == Flag {
			hint = flagHint(n.Value)
		}
		c.report(n, hint, "%s must be %s, not %q", a.Name, want, n.Value)
	} else {
		c.report(n, nil, "%s must be %s, not %s", a.Name, want, n.Kind)
	}
	return nil
}

func (c *compiler) namesValue(n *source.Node, a *Arg, env *environment) *Value {
	if n.Kind == source.Mapping {
		c.report(n, say("as in %s", "[vip, after-hours]"), "%s must be a list of names, not %s", a.Name, n.Kind)
		return nil
	}
	v := &Value{list: []*Value{}}
	for _, item := range oneOrMore(n) {
		name := c.scalar(item, &Arg{Name: a.Name}, env, Text)
		if name == nil {
			return nil
		}
		if text, ok := name.constant.(string); ok && n.Kind == source.Scalar && strings.Contains(text, ",") {
			c.warn(item, say("write [%s] for several", text), "this is one name with a comma in it")
		}
		c.mention(item, a, name)
		v.list = append(v.list, name)
	}
	if len(v.list) == 0 && !a.Null {
		c.report(n, nil, "%s names nothing", a.Name)
	}
	// A list that one expression gives stays a list.
	if len(v.list) == 1 && n.Kind == source.Scalar && v.list[0].whole != nil {
		return v.list[0]
	}
	return v
}

func (c *compiler) choiceValue(n *source.Node, a *Arg, env *environment) *Value {
	if n.Kind == source.Scalar && strings.Contains(n.Value, "{{") {
		return c.whole(n, a, env, Text)
	}
	s, ok := c.choice(n, phrases.Word(a.Name), a.Values)
	if !ok {
		return nil
	}
	return &Value{constant: s}
}

func (c *compiler) whenValue(n *source.Node, a *Arg, env *environment) *Value {
	v := c.scalar(n, a, env, nil)
	if v == nil {
		return nil
	}
	if v.whole != nil && !fits(v.whole.result, Time) && !fits(v.whole.result, Text) {
		c.report(n, nil, "%s must be a day or a time, not %s", a.Name, v.whole.result)
		return nil
	}
	if s, ok := v.constant.(string); ok && v.whole == nil && v.pieces == nil {
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			if _, err := time.Parse(time.RFC3339, s); err != nil {
				c.report(n, say("as in 2026-12-24 or 2026-12-24T18:00:00-03:00"), "%s must be a day or a time, not %q", a.Name, s)
				return nil
			}
		}
	}
	return v
}

// fieldsValue compiles an argument that has arguments of its own; a Target may be a conversation
// instead.
func (c *compiler) fieldsValue(n *source.Node, a *Arg, env *environment) *Value {
	if n.Kind == source.Scalar && a.Kind == KindTarget {
		v := c.scalar(n, a, env, Text)
		c.isID(n, v, a.Name, "a conversation's id", say("write { phone: \"+5511…\", channel: … } for a phone number, or { contact: \"{{ contact.id }}\", channel: … }"))
		return v
	}
	if !c.mapping(n, phrases.Word(a.Name), argNames(a.Fields)...) {
		return nil
	}
	v := &Value{fields: []Setting{}}
	for i := range a.Fields {
		f := &a.Fields[i]
		item := n.Get(f.Name)
		if item == nil {
			if f.Required && !misspelt(n, f.Name) {
				c.report(n, nil, "%s needs %q", a.Name, f.Name)
			}
			continue
		}
		if value := c.argument(item, f, env); value != nil {
			v.fields = append(v.fields, Setting{f.Name, value})
			c.argumentScopes(f, value)
			if f.Name == "contact" {
				c.isID(item, value, f.Name, "a contact's id", say("write {{ contact.id }} for the customer, or phone with a number"))
			}
		}
	}
	if a.Kind == KindTarget && !hasUnknown(n, argNames(a.Fields)) {
		c.target(n, a)
	}
	return v
}

// isID reports a text that is written out where only an id can stand.
func (c *compiler) isID(n *source.Node, v *Value, name string, what phrases.Word, hint *phrases.Message) {
	if v == nil {
		return
	}
	if text, ok := v.Constant(); ok && !plain.IsUUID(fmt.Sprint(text)) {
		c.report(n, hint, "%s must be %s, not %q", name, what, text)
	}
}

// target checks that a mapping names one conversation.
func (c *compiler) target(n *source.Node, a *Arg) {
	var named []string
	for _, name := range []string{"person", "phone", "contact"} {
		if n.Get(name) != nil {
			named = append(named, name)
		}
	}
	channel := n.Get("channel")
	switch {
	case len(named) != 1:
		c.report(n, say("as in { phone: \"+5511999990000\", channel: Main } or { person: Carla }"), "%s needs one of phone, contact and person; here is %s", a.Name, phrases.And(named))
	case named[0] == "person" && channel != nil:
		c.report(channel, say("leave it out"), "the configuration says in which channel a person is written to")
	case named[0] != "person" && channel == nil:
		c.report(n, say("the WhatsApp number to write from, as in channel: Main"), "%s needs \"channel\"", a.Name)
	}
}

// data compiles any YAML, with {{ }} in its texts.
func (c *compiler) data(n *source.Node, env *environment) *Value {
	switch n.Kind {
	case source.List:
		v := &Value{list: []*Value{}}
		for _, item := range n.Items {
			value := c.data(item, env)
			if value == nil {
				return nil
			}
			v.list = append(v.list, value)
		}
		return v
	case source.Mapping:
		v := &Value{fields: []Setting{}}
		for _, p := range n.Pairs {
			value := c.data(p.Value, env)
			if value == nil {
				return nil
			}
			v.fields = append(v.fields, Setting{p.Key.Value, value})
		}
		return v
	case source.Scalar:
		segments, unclosed := template.Split(n.Value)
		if unclosed >= 0 {
			c.add(neverClosed(n, unclosed))
		}
		if slices.ContainsFunc(segments, func(s template.Segment) bool { return s.Expression }) {
			return c.template(n, segments, env, nil)
		}
	}
	return &Value{constant: exprValue(n.Any())}
}

// mention records a name of the service in a rule, to be checked online.
func (c *compiler) mention(n *source.Node, a *Arg, v *Value) {
	if v == nil || a.Refers == "" {
		return
	}
	name, _ := v.constant.(string)
	if a.Refers == "teammate" {
		c.mentionTeammate(n, name)
		return
	}
	if v.whole == nil && v.pieces == nil {
		if plain.IsUUID(name) || name == "none" || name == "me" {
			return
		}
		if lookups[a.Refers] != "" && a.Refers != "contact" {
			c.rule.names = append(c.rule.names, NameUse{Kind: a.Refers, Name: name, place: c.place(n, 0)})
		}
	}
	c.reads(lookups[a.Refers])
}

// mentionedBeside records which arguments may stand beside the names that were recorded since.
func (c *compiler) mentionedBeside(since int, args []Arg) {
	for i := range c.rule.names[since:] {
		c.rule.names[since+i].beside = args
	}
}

// place returns where an offset of a value of the rule stands, for problems that are found later.
func (c *compiler) place(n *source.Node, offset int) Problem {
	p := n.AtOffset(offset, source.Error, nil, nil)
	p.Rule = c.rule.ID
	return p
}

// mentionTeammate records a person whom the rule writes to, and reports one whose phone is not
// known. An empty name is that of an expression.
func (c *compiler) mentionTeammate(n *source.Node, name string) {
	c.reads("conversations:read") // for the channel
	if name == "" {
		return
	}
	c.rule.people = union(c.rule.people, []string{name})
	same := func(known string) bool { return spelling.Plain(known) == spelling.Plain(name) }
	if c.options.People != nil && !slices.ContainsFunc(c.options.People, same) {
		hint := source.DidYouMean(name, c.options.People)
		if hint == nil {
			hint = say("add people: { %s: { phone: \"+55…\", channel: … } } to the configuration", name)
		}
		c.report(n, hint, "the configuration does not say where %s is reached", name)
	}
}

// argumentScopes adds the scopes that an argument's own calls need.
func (c *compiler) argumentScopes(a *Arg, v *Value) {
	if a.Refers == "media" {
		// An id of the service needs no upload.
		if name, ok := v.Constant(); ok && plain.IsUUID(name.(string)) {
			return
		}
	}
	if a.Kind == KindTarget && v.fields == nil {
		return
	}
	c.rule.Scopes = union(c.rule.Scopes, a.Scopes)
}
