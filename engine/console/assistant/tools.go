package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/redact"
)

// A tool is what assistants can call, with the role that it needs: the one for the same in the
// console.
type tool struct {
	name string
	role console.Role
	add  func(m *mcp.Server, c *caller)
}

// tools are all tools. None of them reaches the service: there is no client here.
var tools = []tool{
	reads("language", console.Viewer, "Read the reference of the rule language and of tests, a section at a time. Without a section it lists them.", (*caller).language),
	reads("names", console.Viewer, "List what rules can name: labels, sectors, people, teammates, channels, boards, stages, calendars, media files.", (*caller).names),
	reads("rules", console.Viewer, "List the rules with their stage: draft (does nothing), shadow (is only watched) or live (acts on customers); and the proposals that wait.", (*caller).rules),
	reads("rule", console.Viewer, "Read the file of a rule: its text, what it was (for propose), its problems and its tests.", (*caller).rule),
	reads("check", console.Editor, "Check the text of a rule file as quando check does: every problem with its line, and what to write instead.", (*caller).check),
	reads("test", console.Editor, "Run the tests of a rule on a simulated clock, with faults (calls that fail, crashes, doubled deliveries) or without. Nothing is sent.", (*caller).test),
	reads("try", console.Editor, "Play a made-up conversation to a rule and see what it would do, and why. Nothing is sent.", (*caller).try),
	reads("backtest", console.Editor, "See what a rule would have done on the recorded events of the last 14 days. Nothing is sent.", (*caller).backtest),
	reads("diff", console.Editor, "See for how many customers a new text of a rule would have done something else than the one in use, in the last 14 days.", (*caller).diff),
	reads("explain", console.Viewer, "Say why each rule did or did not fire: for an event, for the newest events of a conversation, or for what started a run.", (*caller).explain),
	reads("runs", console.Viewer, "List what rules have done and are doing, the newest first.", (*caller).runs),
	reads("events", console.Viewer, "List recorded events with the verdict of every rule, the newest first.", (*caller).events),
	writes("propose", console.Editor, "Propose a rule file: it is saved as a draft, or in shadow where the token allows that, and waits for a person. A change of a live rule only waits. Nothing becomes live.", (*caller).propose),
}

// reads is a tool that changes nothing.
func reads[In any](name string, role console.Role, description string, do func(*caller, context.Context, In) (any, error)) tool {
	return newTool(name, role, description, true, do)
}

// writes is a tool that saves something, which is never in use at once.
func writes[In any](name string, role console.Role, description string, do func(*caller, context.Context, In) (any, error)) tool {
	return newTool(name, role, description, false, do)
}

func newTool[In any](name string, role console.Role, description string, readOnly bool, do func(*caller, context.Context, In) (any, error)) tool {
	no := false
	return tool{name, role, func(m *mcp.Server, c *caller) {
		about := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &no, OpenWorldHint: &no}}
		mcp.AddTool(m, about, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			answer, err := do(c, ctx, in)
			if err != nil {
				return nil, nil, errors.New(redact.Text(engine.Harmless(err.Error())))
			}
			text, err := encode(answer)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	}}
}

// encode writes an answer as JSON, within the bound of answers.
func encode(answer any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return "", err
	}
	if b.Len() > maxAnswer {
		return "", fmt.Errorf("the answer has more than %d KiB: ask for less, with a smaller limit or about one rule", maxAnswer>>10)
	}
	return b.String(), nil
}

// space returns a workspace by its name; empty is the first.
func (c *caller) space(name string) (*console.Workspace, error) {
	for i := range c.options.Workspaces {
		if w := &c.options.Workspaces[i]; w.Name == name || name == "" {
			return w, nil
		}
	}
	return nil, fmt.Errorf("there is no workspace %q", name)
}

// used returns the rules of a workspace as they stand.
func used(w *console.Workspace) *rules.Set {
	if w.Rules != nil {
		if set := w.Rules().Set; set != nil {
			return set
		}
	}
	return &rules.Set{}
}

// place is where the rules of a workspace are written.
func place(w *console.Workspace) draft.Place {
	return draft.Place{Store: w.Editing.Store, Files: w.Editing.Files, Rules: w.Editing.Rules, Used: func() *rules.Set { return used(w) }}
}

// Bounds of a page of an answer.
const (
	pageSize = 20
	maxPage  = 50
)

// page returns a part of a list that begins at a cursor, and the cursor of the next part.
func page[T any](list []T, cursor string, size int) (part []T, next string, err error) {
	from := 0
	if cursor != "" {
		if from, err = strconv.Atoi(cursor); err != nil || from < 0 || from > len(list) {
			return nil, "", fmt.Errorf("there is no such cursor %q: take the one of the answer before", cursor)
		}
	}
	end := min(from+size, len(list))
	if end < len(list) {
		next = strconv.Itoa(end)
	}
	return list[from:end], next, nil
}

// sizeOf returns how many items a page has.
func sizeOf(limit int) int {
	if limit < 1 {
		return pageSize
	}
	return min(limit, maxPage)
}
