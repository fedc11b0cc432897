package rulescmd

import (
	"cmp"
	"fmt"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/backtest"
)

// deedWords says what an effect is, in words that follow "would have": sent to Marina: “…”.
func deedWords(e backtest.Effect) string {
	who := cmp.Or(e.Who, e.About.Conversation, e.About.Card, "somebody")
	arg := func(name string) string { return actions.ArgumentWords(e.Arguments[name]) }
	to := who
	if arg("to") != "" {
		to = arg("to")
	}
	var words string
	switch e.Verb {
	case "send_message":
		words = fmt.Sprintf("sent to %s: “%s”", to, cmp.Or(arg("text"), arg("media")))
	case "transfer":
		words = fmt.Sprintf("transferred %s to %s", who, cmp.Or(arg("person"), arg("sector"))) + because(arg("reason"))
	case "set_sector":
		words = fmt.Sprintf("put %s into the sector %s", who, cmp.Or(arg("sector"), "none")) + because(arg("reason"))
	case "add_labels":
		words = fmt.Sprintf("labelled %s %s", who, arg("labels"))
	case "remove_labels":
		words = fmt.Sprintf("taken the label %s off %s", arg("labels"), who)
	case "set_labels":
		words = fmt.Sprintf("labelled %s only %s", who, cmp.Or(arg("labels"), "nothing"))
	case "mark_read":
		words = "marked as read: " + who
	case "close_attendance":
		words = "closed the attendance of " + who + because(arg("reason"))
	case "move_card":
		words = fmt.Sprintf("moved a card of %s to %s", who, arg("to"))
	case "create_card":
		words = fmt.Sprintf("created the card “%s” for %s", arg("title"), who)
	case "http_request":
		words = fmt.Sprintf("called %s %s", cmp.Or(arg("method"), "GET"), arg("url"))
	default:
		words = fmt.Sprintf("done %s for %s", e.Verb, who)
		if len(e.Arguments) > 0 {
			words += ": " + actions.ArgumentWords(e.Arguments)
		}
	}
	return cli.Harmless(words)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
