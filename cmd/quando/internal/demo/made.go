package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// mainChannel is the number of a made-up desk whose rules name none.
const mainChannel = "Main"

// object is an object of the sandbox's state.
type object = map[string]any

// madeUp returns what the rules name of the service, as a part of the sandbox's state. With a time
// zone it is a whole company to begin with: what the rules name nothing of is the small company's.
func madeUp(set *rules.Set, people service.People, zone string) []byte {
	m := &deskBuilder{parts: map[string][]object{}}

	for _, use := range set.Names() {
		switch use.Kind {
		case "label", "sector", "channel":
			m.add(use.Kind+"s", use.Name)
		case "person":
			m.add("people", use.Name)
		case "board":
			m.board(use.Name)

		}
	}
	for _, use := range set.Names() { // a stage of no board in particular is one of the first
		if use.Kind == "stage" {
			m.stage(use.Board, use.Name)
		}
	}
	for _, name := range people.Names() {
		if channel := people[name].Channel; channel != "" {
			m.add("channels", channel)
		}
	}
	if zone != "" {
		m.complete()
	}
	doc := object{}
	for name, list := range m.parts {
		doc[name] = list
	}
	if zone != "" {
		doc["company"] = object{"name": "Play", "timezone": zone}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // it consists of texts
	}
	return text
}

// A deskBuilder is a part of the sandbox's state that is being made up.
type deskBuilder struct{ parts map[string][]object }

// add adds something by its name, once, and returns it. An id gets a name too.
func (m *deskBuilder) add(part, name string) object {
	one := object{"name": name}
	if id, err := sandbox.ParseID(name); err == nil {
		one = object{"id": id.String(), "name": strings.TrimSuffix(part, "s") + " " + id.String()[:8]}
	}
	for _, there := range m.parts[part] {
		if strings.EqualFold(fmt.Sprint(there["name"]), fmt.Sprint(one["name"])) {
			return there
		}
	}
	m.parts[part] = append(m.parts[part], one)
	return one
}

func (m *deskBuilder) board(name string) object { return m.add("boards", name) }

// stage adds a stage to a board.
func (m *deskBuilder) stage(board, name string) {
	if board == "" {
		board = "Sales"
		if list := m.parts["boards"]; len(list) > 0 {
			board = fmt.Sprint(list[0]["name"])
		}
	}
	b := m.board(board)
	stages, _ := b["stages"].([]object)
	if slices.ContainsFunc(stages, func(s object) bool { return strings.EqualFold(fmt.Sprint(s["name"]), name) }) {
		return
	}
	one := object{"name": name}
	if id, err := sandbox.ParseID(name); err == nil {
		one = object{"id": id.String(), "name": "stage " + id.String()[:8]}
	}
	if slices.Contains([]string{"won", "ganho", "ganhos", "ganha"}, strings.ToLower(name)) {
		one["winning"] = true
	}
	b["stages"] = append(stages, one)
}

// complete adds what every desk needs to the parts that are there.
func (m *deskBuilder) complete() {
	if m.parts["people"] != nil {
		for _, name := range []string{"Ana", "Bruno", "Carla"} {
			m.add("people", name)
		}
	}
	if m.parts["boards"] == nil {
		return
	}
	for _, b := range m.parts["boards"] {
		stages, _ := b["stages"].([]object)
		if len(stages) == 0 {
			stages = []object{{"name": "Open"}}
		}
		if !slices.ContainsFunc(stages, func(s object) bool { return s["winning"] == true }) && b["name"] != "Attendances" {
			stages = append(stages, object{"name": "Won", "winning": true})
		}
		b["stages"] = stages
	}
	m.stage("Attendances", "Open")
	m.stage("Attendances", "Done")
}

// phonesOf invents where the people are reached that the rules write to by name.
func phonesOf(set *rules.Set) service.People {
	people := service.People{}
	for i, name := range set.People() {
		people[name] = service.Phone{Number: fmt.Sprintf("+551199000%04d", i+1), Channel: mainChannel}
	}
	return people
}

// A fakeTransport answers http_request in place of other systems, so that nothing leaves this
// machine.
type fakeTransport struct {
	called func(method, host string)
}

// RoundTrip answers that everything is well.
func (s *fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body) // a body in memory
		_ = r.Body.Close()
	}
	s.called(r.Method, r.URL.Host)
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2,
	}, nil
}
