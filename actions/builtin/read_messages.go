package builtin

import "github.com/quandohq/quando/rules"

var readMessages = rules.Schema{
	Verb: "read_messages", Main: "limit", Summary: "Read the conversation's newest messages, newest first",
	Args: []rules.Arg{
		{Name: "limit", Kind: rules.KindNumber, Min: 1, Max: 100, Summary: "how many, 1 to 100; 30 unless given"},
		{Name: "before", Kind: rules.KindText, Summary: "only older ones than this cursor"},
		{Name: "after", Kind: rules.KindText, Summary: "only newer ones than this cursor"},
	},
	Needs:  "conversation",
	Result: rules.ListOf(rules.MessageType), Gives: "messages",
	Scopes:  []string{"messages:read"},
	Example: "{ limit: 10 }",
}
