package words

import (
	"cmp"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/redact"
)

// A Deed is something that a rule would do, or would have done.
type Deed struct {
	At   time.Time
	Verb string
	Who  string // the customer, the card, or the other system
	Args map[string]any
	Link string // the event that it would have come of
}

// A DeedView is a deed in words.
type DeedView struct {
	At          time.Time
	Words, Text string // what, and what would be written
	Link        string
}

// Deed puts a deed into words.
func (w Language) Deed(d Deed) DeedView {
	args, _ := redact.Value(d.Args).(map[string]any)
	arg := func(name string) string { return actions.ArgumentWords(args[name]) }
	who := cmp.Or(d.Who, w.T("deed.somebody"))
	v := DeedView{At: d.At, Link: d.Link}
	switch d.Verb {
	case "send_message":
		v.Words, v.Text = w.T("deed.send_message", cmp.Or(arg("to"), who)), cmp.Or(arg("text"), arg("media"))
	case "transfer":
		v.Words = w.T("deed.transfer", who, cmp.Or(arg("person"), arg("sector")))
	case "set_sector":
		v.Words = w.T("deed.set_sector", who, cmp.Or(arg("sector"), "–"))
	case "add_labels", "remove_labels", "set_labels":
		v.Words = w.T("deed."+d.Verb, arg("labels"), who)
	case "move_card":
		v.Words = w.T("deed.move_card", who, arg("to"))
	case "create_card":
		v.Words = w.T("deed.create_card", arg("title"), who)
	case "http_request":
		v.Words = w.T("deed.http_request", cmp.Or(arg("method"), "GET"), arg("url"))
	default:
		v.Words = w.T("deed.other", w.Or("verb.", d.Verb), who)
		v.Text = actions.ArgumentWords(args)
	}
	v.Words, v.Text = engine.Harmless(v.Words), engine.Harmless(v.Text)
	return v
}
