package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
	"unicode/utf8"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

var sendMessage = rules.Schema{
	Verb: "send_message", Group: "messages", Main: "text", Summary: "Send a message",
	Args: []rules.Arg{
		{Name: "text", Kind: rules.KindText, Summary: "what to write; with media, the caption"},
		{Name: "media", Kind: rules.KindName, Refers: "media", Scopes: []string{"media:write"}, Summary: "a file in the rule set's `media` folder, or the id of one that was uploaded"},
		{Name: "reply_to", Kind: rules.KindText, Summary: "the external id of the message to answer, such as `{{ message.external_id }}`"},
		{Name: "to", Kind: rules.KindTarget, Fields: target, Scopes: []string{"conversations:write"}, Emits: opens,
			Summary: "another conversation's id; or `{phone, channel}`, `{contact, channel}` or `{person}`, whose conversation is opened first"},
	},
	OneOf: []string{"text", "media"},
	Needs: "conversation", Unless: []string{"to"},
	Result:  rules.MessageType,
	Scopes:  []string{"messages:send"},
	Emits:   []string{"message.sent", "conversation.updated"},
	Example: "\"Hello {{ contact.name }}!\"",
}

// planSendMessage opens the conversation if there is none yet, then uploads the file, then sends:
// each call has a receipt before the next begins.
func planSendMessage(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callSend); ok {
		return result(ctx, r, rules.MessageType, nil)
	}
	a := args(s.Args)
	if a.text("text") == "" && a.text("media") == "" {
		return actions.Next{}, actions.Permanent(phrases.New(phrases.NothingToSend))
	}
	conversation, next, err := d.addressee(ctx, s)
	if err != nil || next.Intent != nil {
		return next, err
	}
	media, next, err := d.planMedia(s)
	if err != nil || next.Intent != nil {
		return next, err
	}
	request := sendRequest{Conversation: conversation, Message: service.NewMessage{
		ClientID: clientID(s), Text: a.text("text"), MediaID: media, ReplyToExternalID: a.text("reply_to"),
	}}
	return planCall(s, callSend, actions.Intent{Lane: conversationLane(s, conversation), Emits: sendMessage.Emits}, request, nil)
}

// addressee returns the conversation that a message goes to, or the plan to open it.
func (d *desk) addressee(ctx context.Context, s *actions.Step) (string, actions.Next, error) {
	a := args(s.Args)
	to, ok := a["to"].(map[string]any)
	if !ok {
		if a.has("to") {
			id, err := a.requiredText("to")
			return id, actions.Next{}, err
		}
		id, err := a.objectID("conversation", s.Conversation)
		return id, actions.Next{}, err
	}
	if r, ok := s.Receipt(callOpen); ok {
		answer, err := decodeRecorded[struct{ ID string }](r.Answer)
		return answer.ID, actions.Next{}, err
	}
	found, next, err := d.planOpen(ctx, s, to)
	if found == nil {
		return "", next, err
	}
	return found.ID, next, err
}

// conversationLane returns the lane of a conversation; empty if it is the run's own.
func conversationLane(s *actions.Step, conversation string) string {
	if sameID(conversation, s.Conversation) {
		return ""
	}
	return actions.ConversationLane(conversation)
}

// callSend is POST …/messages. It has a client_id of its own: for a repeat the service returns the
// message already created.
const callSend = "send"

type sendCall struct{ *desk }

type sendRequest struct {
	Conversation string             `json:"conversation"`
	Message      service.NewMessage `json:"message"`
}

func (c sendCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, ok := i.Planned.(sendRequest)
	if !ok || !in.roundTrips() {
		var err error
		if in, err = decodeRecorded[sendRequest](i.Request); err != nil {
			return actions.Receipt{}, err
		}
	}
	m, err := c.client.SendMessage(ctx, in.Conversation, in.Message)
	if err != nil {
		return actions.Receipt{}, err
	}
	return in.receipt(m), nil
}

// receipt is that of the message that the request has become.
func (r sendRequest) receipt(m service.Message) actions.Receipt {
	told := messageMembers(r.complete(m), "engine")
	out := actions.Receipt{Caused: []actions.Caused{
		{Event: "message.sent", Object: m.ID, Set: withID(`{"client_id":`, r.Message.ClientID, `}`)},
		{Event: "conversation.updated", Object: r.Conversation, Set: withID(`{"last_message":{"id":`, m.ID, `}}`)},
	}}
	out.Answer, _ = appendMembers(make([]byte, 0, 512), told[:]) // the call has been made, so an answer that cannot be encoded must not fail it
	out.Fact = object(told[:])                                   // texts and a time in UTC, which JSON does not change
	return out
}

// roundTrips reports whether JSON does not change the request: invalid UTF-8 would be.
func (r sendRequest) roundTrips() bool {
	m := &r.Message
	return utf8.ValidString(m.Text) && utf8.ValidString(r.Conversation) && utf8.ValidString(m.ReplyToExternalID) && utf8.ValidString(m.MediaID)
}

// withID encodes JSON with an id in it; an empty id is null.
func withID(before, id, after string) json.RawMessage {
	b := append(make([]byte, 0, len(before)+len(id)+len(after)+len("null")), before...)
	if id == "" {
		b = append(b, "null"...)
	} else {
		b = plain.AppendText(b, id)
	}
	return append(b, after...)
}

// complete fills in what the service's answer may leave out from the request.
func (r sendRequest) complete(m service.Message) service.Message {
	m.ConversationID, m.ClientID = r.Conversation, r.Message.ClientID
	if m.Text == "" {
		m.Text = r.Message.Text
	}
	if m.MediaID == "" {
		m.MediaID = r.Message.MediaID
	}
	return m
}

// clockSlack is how far the service's clock may be from ours.
const clockSlack = time.Minute

// settle has the call repeated: its client_id tells the service that it is the same message. Of a
// call that is given up it looks for the message, from the newest back to when the call was
// planned.
func (c sendCall) settle(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error) {
	if !s.Last {
		return repeat()
	}
	in, err := decodeRecorded[sendRequest](i.Request)
	if err != nil {
		return actions.Settlement{}, err
	}
	for m, err := range c.client.Messages(ctx, in.Conversation, "") {
		switch {
		case err != nil && actions.IsDenied(classify(err)):
			return repeat() // the key may send, and not read
		case err != nil:
			return actions.Settlement{}, err
		case sameID(m.ClientID, in.Message.ClientID):
			return happened(in.receipt(m))
		case m.CreatedAt.Before(i.At.Add(-clockSlack)):
			return repeat()
		}
	}
	return repeat()
}

// made recognises a message by its client_id.
func (c sendCall) made(ctx context.Context, i actions.Intent, about actions.Subject) (bool, error) {
	in, err := decodeRecorded[sendRequest](i.Request)
	if err != nil || about.Message == "" {
		return false, err
	}
	m, err := c.client.GetMessage(ctx, about.Message)
	return err == nil && sameID(m.ClientID, in.Message.ClientID), err
}

// callUpload is POST /media. A repeat is harmless: it leaves an unused file.
const callUpload = "upload"

type uploadCall struct{ *desk }

type uploadRequest struct {
	File string `json:"file"` // in the media folder; its content is read when it is uploaded
}

type uploadAnswer struct {
	MediaID string `json:"media_id"`
}

// planMedia returns the id of the uploaded file of a message, or plans its upload.
func (d *desk) planMedia(s *actions.Step) (id string, next actions.Next, err error) {
	media := args(s.Args).text("media")
	if media == "" || plain.IsUUID(media) {
		return media, next, nil
	}
	if r, ok := s.Receipt(callUpload); ok {
		answer, err := decodeRecorded[uploadAnswer](r.Answer)
		return answer.MediaID, next, err
	}
	f, _, err := d.open(media)
	if err != nil {
		return "", next, err
	}
	_ = f.Close() // nothing was read
	next, err = planCall(s, callUpload, actions.Intent{}, uploadRequest{File: media}, nil)
	return "", next, err
}

// open opens a file of the media folder, and returns its size. It refuses paths that lead out of
// the folder.
func (d *desk) open(name string) (fs.File, int64, error) {
	if d.media == nil {
		return nil, 0, actions.Permanent(fmt.Errorf("media: there is no folder for %q; put it into media/ beside the rules", name))
	}
	missing := actions.Permanent(fmt.Errorf("media: the folder media/ has no file %q", name))
	f, err := d.media.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, 0, missing
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, info.Size(), nil
	}
	_ = f.Close() // nothing was read
	if err == nil {
		err = missing
	}
	return nil, 0, err
}

func (c uploadCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[uploadRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	f, size, err := c.open(in.File)
	if err != nil {
		return actions.Receipt{}, err
	}
	defer func() { _ = f.Close() }()
	m, err := c.client.UploadMedia(ctx, service.File{Name: path.Base(in.File), Size: size, Content: f})
	if err != nil {
		return actions.Receipt{}, err
	}
	return receipt(uploadAnswer{MediaID: m.ID}), nil
}

func (uploadCall) settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return repeat()
}
