package config

import (
	"encoding/csv"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

var (
	workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	variable      = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// A setting is one key of the configuration, by its dotted path, with what reads it.
type setting struct {
	path string
	read func(d *reader, n *source.Node)
}

type settings []setting

// A reader reads values into fields and reports every problem.
type reader struct {
	file      string
	problems  source.Problems
	variable  bool              // the value comes from the environment and is literal
	elsewhere bool              // the environment is that of another machine: variables may be missing
	beside    map[string]string // variables of the .env file beside the configuration
}

// say makes a hint.
func say(format string, args ...any) *phrases.Message { return phrases.Sprintf(format, args...) }

func (d *reader) report(n *source.Node, hint *phrases.Message, format string, args ...any) {
	d.problems = append(d.problems, n.At(source.Error, say(format, args...), hint))
}

// mapping reads the keys below a path.
func (d *reader) mapping(n *source.Node, path string, all settings) {
	if n == nil || n.Kind == source.Null {
		return
	}
	what := phrases.Word(path)
	if path == "" {
		what = "the configuration"
	}
	if n.Kind != source.Mapping {
		d.report(n, nil, "%s must be a mapping, not %s", what, n.Kind)
		return
	}
	for _, p := range n.Pairs {
		key := strings.TrimPrefix(path+"."+p.Key.Value, ".")
		known := false
		for _, s := range all {
			if s.path == key {
				if d.canRead(s.path, p.Value) {
					s.read(d, p.Value)
				}
				known = true
				break
			}
			if strings.HasPrefix(s.path, key+".") {
				d.mapping(p.Value, key, all)
				known = true
				break
			}
		}
		if !known {
			d.report(p.Key, source.OneOf(p.Key.Value, all.below(path)), "%s has no key %q", what, p.Key.Value)
		}
	}
}

// canRead reports whether a value is read: elsewhere, one that lacks a variable is not, unless the
// rest of it can be used without.
func (d *reader) canRead(path string, n *source.Node) bool {
	return !d.elsewhere || slices.Contains(readWithoutVariables, path) || len(d.missing(n)) == 0
}

// readWithoutVariables are the keys that are read also where the environment lacks a variable.
var readWithoutVariables = []string{"workspaces", "rules", "http_request.allow", "safety.internal", "people"}

// missing names the variables in a value that the environment does not have, each once.
func (d *reader) missing(n *source.Node) (names []string) {
	if n == nil {
		return nil
	}
	for _, m := range variable.FindAllStringSubmatch(n.Value, -1) {
		if _, set := d.lookup(m[1]); !set {
			names = append(names, m[1])
		}
	}
	for _, item := range n.Items {
		names = append(names, d.missing(item)...)
	}
	for _, p := range n.Pairs {
		names = append(names, d.missing(p.Value)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// below returns the keys that a path may have.
func (s settings) below(path string) []string {
	var keys []string
	for _, one := range s {
		rest, ok := strings.CutPrefix(one.path, path)
		if !ok {
			continue
		}
		key, _, _ := strings.Cut(strings.TrimPrefix(rest, "."), ".")
		if len(keys) == 0 || keys[len(keys)-1] != key {
			keys = append(keys, key)
		}
	}
	return keys
}

// environment reads the overrides: QUANDO_SERVICE_BASE_URL for service.base_url. Variables are not
// YAML: a token that begins with ! would be empty, and one with " #" cut off.
func (d *reader) environment(prefix string, all settings) {
	d.variable = true
	defer func() { d.variable = false }()
	for _, s := range all {
		name := prefix + "_" + strings.ToUpper(strings.ReplaceAll(s.path, ".", "_"))
		value, set := d.lookup(name)
		if !set || slices.Contains([]string{"workspaces", "console.users", "http_request.headers", "people", "mcp.tokens"}, s.path) {
			continue
		}
		s.read(d, source.Text("$"+name, value))
	}
}

// scalar returns a value with its ${NAME}s from the environment.
func (d *reader) scalar(n *source.Node) (string, bool) {
	if n.Kind != source.Scalar {
		d.report(n, nil, "a single value is needed here, not %s", n.Kind)
		return "", false
	}
	if d.variable {
		return n.Value, true
	}
	ok := true
	value := variable.ReplaceAllStringFunc(n.Value, func(match string) string {
		name := variable.FindStringSubmatch(match)[1]
		v, set := d.lookup(name)
		if !set && d.elsewhere {
			return match
		}
		if !set {
			d.report(n, say("export %s=… before you start quando", name), "the environment has no %s", name)
			ok = false
		}
		return v
	})
	return value, ok
}

func text(to *string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		if s, ok := d.scalar(n); ok {
			*to = s
		}
	}
}

// secret reads a secret, and refuses an empty one: an empty token would open the console.
func secret(to *service.Secret) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if ok && strings.TrimSpace(s) == "" {
			d.report(n, say("give it a value, or take the setting away"), "the secret is empty")
		}
		*to = service.Secret(s)
	}
}

func texts(to *[]string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		*to = nil
		items := n.Items
		if n.Kind == source.Scalar {
			items = d.listed(n)
		}
		for _, item := range items {
			if s, ok := d.scalar(item); ok && s != "" {
				*to = append(*to, s)
			}
		}
	}
}

// listed returns the items of a list that is written as one text: in a variable, [a, b] is a list.
// An item with a comma stands in double quotes.
func (d *reader) listed(n *source.Node) []*source.Node {
	inner, opened := strings.CutPrefix(n.Value, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !d.variable || !opened || !closed {
		return []*source.Node{n}
	}
	r := csv.NewReader(strings.NewReader(inner))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	lines, err := r.ReadAll()
	var items []*source.Node
	for _, item := range slices.Concat(lines...) {
		item = strings.TrimSpace(item)
		if strings.HasPrefix(item, "'") {
			err = say("an item stands in single quotes")
		}
		items = append(items, source.Text(n.File(), item))
	}
	if err != nil {
		d.report(n, say("as in [a, b]; an item with a comma or a quote in it stands in double quotes"), "the list cannot be read: %v", err)
		return nil
	}
	return items
}

// someTexts reads a list that must not be empty, because leaving the setting out means "any".
func someTexts(to *[]string, hint phrases.Word) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		before := len(d.problems)
		texts(to)(d, n)
		if len(*to) == 0 && len(d.problems) == before {
			d.report(n, hint.Message(), "the list is empty")
		}
	}
}

// hostNames reads the names for certificates. Without any, everything would go unencrypted without
// a warning.
func hostNames(to *[]string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		texts(to)(d, n)
		hint := say("list the names that certificates are wanted for, as in hosts: [hooks.example.com]")
		if len(*to) == 0 {
			d.report(n, hint, "there is no host")
		}
		for _, host := range *to {
			if net.ParseIP(host) != nil || strings.ContainsAny(host, "/:*@ ") {
				d.report(n, hint, "%q is not the name of one host", host)
			}
		}
	}
}

func secrets(to *[]service.Secret) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		var plain []string
		texts(&plain)(d, n)
		*to = nil
		for _, s := range plain {
			*to = append(*to, service.Secret(s))
		}
	}
}

func choice(to *string, values ...string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		for _, v := range values {
			if s == v {
				*to = s
				return
			}
		}
		d.report(n, source.OneOf(s, values), "%q is none of the values allowed here", s)
	}
}

// headerName reads the name of a header.
func headerName(to *string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		text(to)(d, n)
		if strings.ContainsFunc(*to, func(r rune) bool { return r <= ' ' || r >= 127 || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
			d.report(n, say("write its name alone, as in forwarded_for: X-Forwarded-For"), "%q is not the name of a header", *to)
		}
	}
}

func yesOrNo(to *bool) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		var s string
		choice(&s, "true", "false")(d, n)
		*to = s == "true"
	}
}

func period(to *time.Duration) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		v, err := duration.Parse(s)
		if err == nil && v <= 0 {
			err = say("%s is no time at all", s)
		}
		if err != nil {
			d.report(n, nil, "%v", err)
			return
		}
		*to = v
	}
}

// durationOrOff reads a duration, or off, which is 0.
func durationOrOff(to *time.Duration) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		if n.Kind == source.Scalar && n.Value == "off" {
			*to = 0
			return
		}
		period(to)(d, n)
	}
}

// address reads host:port, where the host may be left out.
func address(to *string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		_, port, err := net.SplitHostPort(s)
		if number, portErr := strconv.Atoi(port); err != nil || portErr != nil || number < 0 || number > 65535 {
			d.report(n, say("as in \":8080\" or \"127.0.0.1:8081\""), "%q is not an address to listen on", s)
			return
		}
		*to = s
	}
}

// perSecond reads a rate such as 20/s or 600/m.
func perSecond(to *float64) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		number, unit, _ := strings.Cut(s, "/")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[strings.TrimSpace(unit)]
		if err != nil || !(v > 0) || seconds == 0 {
			d.report(n, say("as in %s", "20/s"), "%q is not a rate", s)
			return
		}
		*to = v / seconds
	}
}

// bound reads a rate such as 5 per 10m.
func bound(to *duration.Rate) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		rate, err := duration.ParseRate(s)
		if err != nil {
			d.report(n, say("as in %s", "5 per 10m"), "%v", err)
			return
		}
		*to = rate
	}
}

// chats reads phones and ids of conversations. Elsewhere, it passes over those that only the
// environment tells.
func chats(to *[]string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		texts(to)(d, n)
		if d.elsewhere {
			*to = slices.DeleteFunc(*to, variable.MatchString)
		}
		for _, chat := range *to {
			if !service.IsPhoneOrID(chat) {
				d.report(n, say("as in %s", "[\"+5511999990000\"]"), "%q is neither a phone nor the id of a conversation", chat)
			}
		}
	}
}

// people reads where persons of the team are reached: { Carla: { phone: "+55…", channel: Main } }.
// Elsewhere, those whom only the environment tells how to reach have no phone.
func people(to *service.People) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		hint := say("as in %s", "people: { Carla: { phone: \"+5511999990000\", channel: Main } }")
		if n.Kind != source.Mapping {
			d.report(n, hint, "people must be a mapping of names, not %s", n.Kind)
			return
		}
		*to = make(service.People)
		for _, p := range n.Pairs {
			var phone service.Phone
			before := len(d.problems)
			d.mapping(p.Value, "", settings{{"phone", text(&phone.Number)}, {"channel", text(&phone.Channel)}})
			_, err := to.Find(p.Key.Value)
			switch {
			case len(d.problems) > before:
			case err == nil:
				d.report(p.Key, say("give one of them a surname"), "people has %s twice", p.Key.Value)
			case d.elsewhere && len(d.missing(p.Value)) > 0:
				phone = service.Phone{}
			case !service.IsPhone(phone.Number):
				d.report(p.Value, hint, "the person %s needs a phone, not %q", p.Key.Value, phone.Number)
			case strings.TrimSpace(phone.Channel) == "":
				d.report(p.Value, hint, "the person %s needs a channel: the WhatsApp number to write from", p.Key.Value)
			}
			(*to)[p.Key.Value] = phone
		}
	}
}

// users reads people by their names: { ana: { role: operator, password: "$argon2id$…" } }.
func users(to *map[string]console.User) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		if n.Kind != source.Mapping {
			d.report(n, say("as in %s", "users: { ana: { role: viewer, password: … } }"), "console.users must be a mapping of names, not %s", n.Kind)
			return
		}
		if len(n.Pairs) == 0 {
			d.report(n, say("name at least one, or take the setting away"), "console.users names nobody, and would let everybody in")
		}
		*to = make(map[string]console.User)
		for _, p := range n.Pairs {
			var role, password string
			before := len(d.problems)
			d.mapping(p.Value, "", settings{{"role", choice(&role, "viewer", "editor", "operator")}, {"password", text(&password)}})
			if len(d.problems) > before {
				continue
			}
			known, err := console.ParseRole(role)
			if err == nil {
				err = console.CheckHash(password)
			}
			if err != nil {
				d.report(p.Value, say("quando password prints a hash"), "the user %s: %v", p.Key.Value, err)
			}
			(*to)[p.Key.Value] = console.User{Role: known, Password: password}
		}
	}
}

// headers reads extra headers for other systems: { erp.example.com: { Authorization: "Bearer
// ${ERP_TOKEN}" } }.
func headers(to *map[string]map[string]service.Secret) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		hint := say("as in %s", "headers: { erp.example.com: { Authorization: \"Bearer ${ERP_TOKEN}\" } }")
		if n.Kind != source.Mapping {
			d.report(n, hint, "http_request.headers must be a mapping of hosts, not %s", n.Kind)
			return
		}
		*to = make(map[string]map[string]service.Secret)
		for _, host := range n.Pairs {
			if host.Value.Kind != source.Mapping {
				d.report(host.Value, hint, "the headers of %s must be a mapping of names, not %s", host.Key.Value, host.Value.Kind)
				continue
			}
			all := make(map[string]service.Secret)
			for _, p := range host.Value.Pairs {
				if s, ok := d.scalar(p.Value); ok {
					all[p.Key.Value] = service.Secret(s)
				}
			}
			(*to)[strings.ToLower(host.Key.Value)] = all
		}
	}
}

func zone(to **time.Location) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		loc, err := time.LoadLocation(s)
		if err != nil || s == "" || s == "Local" {
			d.report(n, say("an IANA name such as America/Sao_Paulo or Europe/Lisbon"), "unknown time zone %q", s)
			return
		}
		*to = loc
	}
}
