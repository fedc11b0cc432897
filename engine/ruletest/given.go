package ruletest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// A document is the state of the sandbox as lists of objects.
type document map[string][]map[string]any

// state returns the state that a story begins with: the small company of the sandbox, what the test
// gives over it, and whatever else the rules name.
func state(s *story) ([]byte, error) {
	doc, err := smallCompany()
	if err != nil {
		return nil, err
	}
	for part, items := range s.test.Given {
		list, _ := items.([]any)
		for _, item := range list {
			doc.put(part, object(item))
		}
	}
	doc.name(s)
	s.people = doc.takePhones(s.options.People, s.rules.People())
	doc.connect()
	return json.Marshal(doc)
}

func (s *story) stateReader() io.Reader { return bytes.NewReader(s.state) }

// smallCompany returns the parts of a fresh sandbox that a company always has.
func smallCompany() (document, error) {
	s, err := sandbox.New(sandbox.Options{Seed: 1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it has started nothing
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(s.State(), &parts); err != nil {
		return nil, fmt.Errorf("read the small company: %w", err)
	}
	doc := document{}
	for _, part := range []string{"channels", "labels", "sectors", "people", "boards"} {
		var items []map[string]any
		if err := json.Unmarshal(parts[part], &items); err != nil {
			return nil, fmt.Errorf("read the small company: %s: %w", part, err)
		}
		doc[part] = items
	}
	return doc, nil
}

// object returns an item of given as an object: where a name says it all, the name will do.
func object(item any) map[string]any {
	fields, ok := item.(map[string]any)
	if !ok {
		return map[string]any{"name": item}
	}
	if stages, ok := fields["stages"].([]any); ok {
		fields = maps.Clone(fields)
		list := make([]any, len(stages))
		for i := range stages {
			list[i] = object(stages[i])
		}
		fields["stages"] = list
	}
	return fields
}

// put adds an object, or changes the existing one of that name.
func (d document) put(part string, item map[string]any) {
	if part == "contacts" || part == "conversations" || part == "attendances" || part == "cards" {
		d[part] = append(d[part], item)
		return
	}
	there := d.find(part, item["name"])
	if there == nil {
		d[part] = append(d[part], item)
		return
	}
	for name, value := range item {
		delete(there, map[string]string{"sectors": "sector_ids", "members": "member_ids"}[name])
		there[name] = value
	}
}

// find returns the object of a name, which is the same in capitals; nil when there is none.
func (d document) find(part string, name any) map[string]any {
	i := slices.IndexFunc(d[part], func(o map[string]any) bool { return strings.EqualFold(fmt.Sprint(o["name"]), fmt.Sprint(name)) })
	if i < 0 {
		return nil
	}
	return d[part][i]
}

// name adds objects that the rules name and the state lacks.
func (d document) name(s *story) {
	parts := map[string]string{"label": "labels", "sector": "sectors", "person": "people", "channel": "channels", "board": "boards"}
	boards := map[string]bool{}
	for _, use := range s.options.Set.Names() {
		if use.Kind == "board" {
			boards[use.Name] = true
		}
		if part := parts[use.Kind]; part != "" && !isID(use.Name) && d.find(part, use.Name) == nil {
			d[part] = append(d[part], map[string]any{"name": use.Name})
		}
	}
	for _, use := range s.options.Set.Names() {
		if use.Kind != "stage" || isID(use.Name) {
			continue
		}
		// A stage without a board may be on any board that the rules name.
		on := []string{use.Board}
		if use.Board == "" {
			if d.hasStage(use.Name) {
				continue
			}
			on = slices.Sorted(maps.Keys(boards))
		}
		for _, board := range on {
			if b := d.find("boards", board); b != nil && !stageOf(b, use.Name) {
				stages, _ := b["stages"].([]any)
				b["stages"] = append(stages, map[string]any{"name": use.Name})
			}
		}
	}
	for _, b := range d["boards"] {
		if stages, _ := b["stages"].([]any); len(stages) == 0 {
			b["stages"] = []any{map[string]any{"name": "Open"}}
		}
	}
}

// takePhones returns where the persons of the team are reached, as given or else as configured, and
// takes that out of the state, because the service does not know it. A person without a phone, and
// one whom only the rules name, has one of those that nobody has.
func (d document) takePhones(configured service.People, named []string) service.People {
	people := service.People{}
	for _, person := range d["people"] {
		phone, channel := text(person["phone"]), text(person["channel"])
		delete(person, "phone")
		delete(person, "channel")
		if phone != "" {
			people[text(person["name"])] = service.Phone{Number: phone, Channel: cmp.Or(channel, d.firstChannel())}
		}
	}
	for _, name := range configured.Names() {
		if _, err := people.Find(name); err != nil && configured[name].Number != "" {
			people[name] = configured[name]
		}
	}
	for _, name := range slices.Concat(configured.Names(), named) {
		if _, err := people.Find(name); err != nil {
			people[name] = service.Phone{Number: d.freePhone(people), Channel: d.firstChannel()}
		}
	}
	for _, phone := range people {
		if !isID(phone.Channel) && d.find("channels", phone.Channel) == nil {
			d["channels"] = append(d["channels"], map[string]any{"name": phone.Channel})
		}
	}
	return people
}

// freePhone returns a phone that no contact and none of these people have.
func (d document) freePhone(people service.People) string {
	for n := 1; ; n++ {
		number := fmt.Sprintf("+55119000%05d", n)
		taken := slices.ContainsFunc(d["contacts"], func(c map[string]any) bool { return samePhone(text(c["phone"]), number) })
		for _, phone := range people {
			taken = taken || samePhone(phone.Number, number)
		}
		if !taken {
			return number
		}
	}
}

func (d document) firstChannel() string {
	if len(d["channels"]) == 0 {
		return "Main"
	}
	return text(d["channels"][0]["name"])
}

func (d document) hasStage(name string) bool {
	return slices.ContainsFunc(d["boards"], func(b map[string]any) bool { return stageOf(b, name) })
}

func stageOf(board map[string]any, name string) bool {
	stages, _ := board["stages"].([]any)
	return slices.ContainsFunc(stages, func(s any) bool {
		stage, _ := s.(map[string]any)
		return strings.EqualFold(fmt.Sprint(stage["name"]), name)
	})
}

// connect gives attendances the conversation of their contact, and cards that of the contact that
// they name. It is begun where there is none.
func (d document) connect() {
	for i, a := range d["attendances"] {
		if contact, ok := a["contact"]; ok {
			d["attendances"][i] = d.connected(a, contact)
		}
	}
	for i, card := range d["cards"] {
		if contact, ok := card["conversation"]; ok {
			d["cards"][i] = d.connected(card, contact)
		}
	}
}

// connected returns an object with the conversation of a contact.
func (d document) connected(item map[string]any, contact any) map[string]any {
	name := d.contactName(contact)
	i := slices.IndexFunc(d["conversations"], func(c map[string]any) bool { return strings.EqualFold(d.contactName(c["contact"]), name) })
	if i < 0 {
		i = len(d["conversations"])
		d["conversations"] = append(d["conversations"], map[string]any{"contact": contact})
	}
	item = maps.Clone(item)
	item["conversation"] = name
	if own, named := d["conversations"][i]["name"]; named {
		item["conversation"] = own
	}
	return item
}

// contactName returns the name of a contact that is given by its name, phone or id.
func (d document) contactName(contact any) string {
	for _, c := range d["contacts"] {
		if contact != nil && (contact == c["id"] || contact == c["phone"]) {
			return fmt.Sprint(cmp.Or(c["name"], c["phone"]))
		}
	}
	return fmt.Sprint(contact)
}

func isID(text string) bool {
	_, err := sandbox.ParseID(text)
	return err == nil
}
