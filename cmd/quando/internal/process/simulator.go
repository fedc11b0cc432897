package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/service/sandbox"
)

// A SandboxControl plays the people of a sandbox through its control interface. It does not move
// the clock: an engine in real time would not follow, and refuse what comes from another time.
type SandboxControl struct {
	url    string // of the control interface
	client *http.Client
}

// NewSandboxControl returns a client for the control interface at an address.
func NewSandboxControl(url string) *SandboxControl {
	return &SandboxControl{url: strings.TrimSuffix(url, "/"), client: &http.Client{Timeout: 10 * time.Second}}
}

var _ console.Simulator = (*SandboxControl)(nil)

// checkSandbox checks that a sandbox's control interface is on this machine, and belongs to the
// configured service: otherwise a user would play in one sandbox and wait for rules in another.
func checkSandbox(control, base string) error {
	c, err := url.Parse(control)
	if err != nil || c.Scheme != "http" || !console.IsLoopback(c.Host) {
		return fmt.Errorf("service.sandbox: %q is not a control interface on this machine; it is the control_url that quando sandbox prints, such as http://127.0.0.1:9090/control", control)
	}
	if b, err := url.Parse(base); err != nil || b.Host != c.Host {
		return fmt.Errorf("service.sandbox: the sandbox at %s is not the service of service.base_url; take service.sandbox away, or use the sandbox's base_url", c.Host)
	}
	return nil
}

// maxControl bounds an answer of the control interface.
const maxControl = 4 << 20

// call makes a call to the control interface.
func (s *SandboxControl) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxControl))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		var refused sandbox.Error
		_ = json.Unmarshal(text, &refused) // what cannot be read has no message
		return errors.New(cmp.Or(refused.Message, resp.Status))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// Scene returns the current state.
func (s *SandboxControl) Scene(ctx context.Context, with string) (console.Scene, error) {
	var o sandbox.Overview
	if err := s.call(ctx, "GET", "/overview?with="+url.QueryEscape(with), nil, &o); err != nil {
		return console.Scene{}, err
	}
	scene := console.Scene{Now: o.Now.Time(), Team: simulatedNames(o.People)}
	for _, c := range o.Conversations {
		if !c.Group {
			scene.Conversations = append(scene.Conversations, console.SimulatedConversation{ID: c.ID.String(), Name: c.Name, Phone: c.Phone, Open: c.Open, Assignee: c.Assignee, Sector: c.Sector})
		}
	}
	for _, c := range o.Cards {
		card := console.SimulatedCard{ID: c.ID.String(), Title: c.Title, Board: c.Board, Stage: c.Stage, Stages: simulatedNames(c.Stages)}
		if !c.Conversation.IsZero() {
			card.Conversation = c.Conversation.String()
		}
		scene.Cards = append(scene.Cards, card)
	}
	for _, f := range o.Faults {
		scene.Failures = append(scene.Failures, failureOf(f))
	}
	return scene, nil
}

func simulatedNames(list []sandbox.NameView) (names []console.SimulatedName) {
	for _, n := range list {
		names = append(names, console.SimulatedName{ID: n.ID.String(), Name: n.Name})
	}
	return names
}

// Write writes as a customer.
func (s *SandboxControl) Write(ctx context.Context, m console.CustomerText) (string, error) {
	in := sandbox.CustomerMessage{Phone: m.Phone, Name: m.Name, Text: m.Text}
	if m.Conversation != "" {
		var o sandbox.Overview
		if err := s.call(ctx, "GET", "/overview?with="+url.QueryEscape(m.Conversation), nil, &o); err != nil {
			return "", err
		}
		i := slices.IndexFunc(o.Conversations, func(c sandbox.ConversationView) bool { return c.ID.String() == m.Conversation })
		if i < 0 {
			return "", errors.New("there is no such conversation")
		}
		in.Phone, in.Channel = o.Conversations[i].Phone, o.Conversations[i].Channel
	}
	var written sandbox.Written
	err := s.call(ctx, "POST", "/customers/message", in, &written)
	return written.Conversation.String(), err
}

// Answer writes as the team.
func (s *SandboxControl) Answer(ctx context.Context, conversation, person, text string) error {
	return s.call(ctx, "POST", "/team/message", sandbox.TeamMessage{Conversation: conversation, Person: person, Text: text}, nil)
}

// Close closes an attendance as the team.
func (s *SandboxControl) Close(ctx context.Context, conversation, person string) error {
	return s.call(ctx, "POST", "/team/close", sandbox.TeamClose{Conversation: conversation, Person: person}, nil)
}

// Move moves a card as the team.
func (s *SandboxControl) Move(ctx context.Context, card, stage, person string) error {
	return s.call(ctx, "POST", "/cards/move", sandbox.MoveCard{Card: card, Stage: stage, Person: person}, nil)
}

// Jump is not possible in real time.
func (s *SandboxControl) Jump(context.Context, time.Duration) error {
	return errors.New("the engine lives in real time, so the time cannot be moved")
}

// Fail adds a fault.
func (s *SandboxControl) Fail(ctx context.Context, f console.Failure) error {
	operation := builtin.Operation(f.Verb)
	if f.Verb == "" {
		operation = "*"
	}
	if operation == "" {
		return fmt.Errorf("there are no calls of %q to fail", f.Verb)
	}
	fault := sandbox.Fault{Operation: operation, Kind: "status_before", Status: f.Status, Count: f.Times}
	if f.After {
		fault.Kind = "status_after"
	}
	if f.Status == http.StatusTooManyRequests {
		fault.RetryAfter = 30 // long enough to be seen
	}
	return s.call(ctx, "POST", "/faults", fault, nil)
}

// failureOf converts a fault for the console. One that the console does not offer keeps the name of
// its operation.
func failureOf(f sandbox.Fault) console.Failure {
	out := console.Failure{Verb: cmp.Or(builtin.VerbOf(f.Operation), f.Operation), Status: f.Status, After: f.Kind == "status_after", Times: f.Count}
	if f.Operation == "*" {
		out.Verb = ""
	}
	if f.Kind != "status_before" && f.Kind != "status_after" {
		out.Status = 0
	}
	return out
}

// Mend ends all faults.
func (s *SandboxControl) Mend(ctx context.Context) error {
	return s.call(ctx, "DELETE", "/faults", nil, nil)
}
