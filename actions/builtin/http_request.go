package builtin

import "github.com/quandohq/quando/rules"

var httpRequest = rules.Schema{
	Verb: "http_request", Main: "url", Summary: "Call another system that is on the allow-list",
	Args: []rules.Arg{
		{Name: "method", Kind: rules.KindChoice, Values: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Summary: "POST unless given"},
		{Name: "url", Kind: rules.KindText, Required: true, Summary: "the address"},
		{Name: "headers", Kind: rules.KindHeaders, Summary: "names to values"},
		{Name: "json", Kind: rules.KindData, Summary: "the body"},
		{Name: "timeout", Kind: rules.KindDuration, Summary: "how long to wait for the answer"},
		{Name: "repeatable", Kind: rules.KindFlag, Summary: "whether the call may be repeated after an unknown result; otherwise a person decides"},
	},
	Result: rules.Object(
		rules.Field{Name: "status", Type: rules.Number, Doc: "the answer's status"},
		rules.Field{Name: "json", Type: rules.Anything, Doc: "the answer's body, where it is JSON"},
		rules.Field{Name: "text", Type: rules.Text, Doc: "the answer's body"},
	),
	Example: "{ url: \"https://hooks.example.com/new\", json: { phone: \"{{ contact.phone }}\" } }",
}
