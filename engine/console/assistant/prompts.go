package assistant

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A promptText is what a person can begin with, and the words that it is made of.
type promptText struct {
	name, title, argument, about string
	required                     bool
	text                         string
}

// proveSteps is how every rule is proven.
const proveSteps = `1. Say the story back in one or two sentences: who writes what, when, and what must never happen. Ask only what the story leaves open.
2. Read the sections of "language" that you need, and "names" for the labels, sectors, people, boards and calendars that there are. Use no others.
3. Look at an example that is near (resources quando://examples/…).
4. Write the rule file with its tests: one for what it does, one for each case in which it must stay quiet. Bound what is sent to a customer with limit.
5. "check" until there is no problem; "test" with faults until all pass; "try" the story with times of its own; "backtest", and say whom it would have reached.
6. "propose" it as a draft, with why. Say that a person makes it live in the console. You cannot.`

var promptTexts = []promptText{
	{
		"write a rule", "Write a rule", "story", "what should happen, in your words", true,
		"Write a rule for this desk. The story:\n\n{}\n\nWork in this order, with the tools of Quando:\n" + proveSteps,
	},
	{
		"why did it not fire", "Why did it not fire?", "what", "the rule, and the event, conversation or time", true,
		"Find out why a rule did not fire: {}\n\nFind the event with \"events\" and the run with \"runs\". \"explain\" says for each rule which condition was not so. Say it in plain words: what happened, which condition held it back, and whether that is what the rule should do. What was not recorded is not known: do not guess. If the rule should change, propose that, proven as in \"write a rule\".",
	},
	{
		"review my rules", "Review my rules", "about", "what to look at in particular", false,
		"Review the rules of this desk. {}\n\nList them with \"rules\" and read each with \"rule\". Look for: rules that can answer each other or the same event; messages without a limit; a wait without cancel_on; rules without tests, or tests without faults; names that \"names\" does not have; rules that never fire or often fail, by \"runs\" and \"events\". \"test\" each with faults. Tell the findings by weight, each with the rule, what could happen to a customer, and what to change. Change nothing unless you are asked; then \"propose\".",
	},
}

// addPrompts adds what people can begin with.
func addPrompts(m *mcp.Server) {
	for _, p := range promptTexts {
		m.AddPrompt(&mcp.Prompt{Name: p.name, Title: p.title, Arguments: []*mcp.PromptArgument{{Name: p.argument, Description: p.about, Required: p.required}}},
			func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text := strings.Replace(p.text, "{}", req.Params.Arguments[p.argument], 1)
				return &mcp.GetPromptResult{Description: p.title, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
			})
	}
}
