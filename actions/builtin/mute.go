package builtin

import (
	"context"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var mute = rules.Schema{
	Verb: "mute", Group: "messages", Main: "for", Summary: "Send nothing automatic to the conversation for a time",
	Args: []rules.Arg{
		{Name: "for", Kind: rules.KindDuration, Summary: "how long"},
		{Name: "until", Kind: rules.KindWhen, Summary: "until when, such as `{{ next_open('office') }}`"},
		anotherConversation,
	},
	OneOf: []string{"for", "until"}, Not: [][2]string{{"for", "until"}},
	Needs: "conversation", Unless: []string{"conversation"},
	Example: "24h",
}

var unmute = rules.Schema{
	Verb: "unmute", Group: "messages", Summary: "Let rules send to the conversation again",
	Args:  []rules.Arg{anotherConversation},
	Needs: "conversation", Unless: []string{"conversation"},
}

// planMute plans no call: the engine records whom it does not write to.
func planMute(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	a := args(s.Args)
	until, err := a.dayOrTime("until", d.location)
	if err != nil {
		return actions.Next{}, err
	}
	if length, ok := a["for"].(time.Duration); ok {
		until = s.Now.Add(length)
	}
	if !until.After(s.Now) {
		return actions.Next{Result: &actions.Result{Outcome: actions.Skipped, Why: phrases.New(phrases.MuteOver)}}, nil
	}
	return actions.Next{Result: &actions.Result{Outcome: actions.Done, Mute: &actions.Mute{Conversation: id, Until: until}}}, nil
}

func planUnmute(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	return actions.Next{Result: &actions.Result{Outcome: actions.Done, Mute: &actions.Mute{Conversation: id, Off: true}}}, nil
}
