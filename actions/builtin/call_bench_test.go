package builtin_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service"
)

// sentAnswer is the service's answer to a message.
const sentAnswer = `{"id":"0192f3a4-0000-7000-b000-000000000001","conversation_id":"0192f3a4-0000-7000-9000-000000000001","client_id":"0192f3a4-0000-5000-b000-000000000001","text":"a 1","media_id":null,` +
	`"reply_to_external_id":null,"external_id":"wamid.2","direction":"outbound","sender":{"kind":"api","id":"a7a3a18e-3b98-4109-9c55-ea7a178af9a7","name":"Bench"},"created_at":"2026-11-13T20:50:00.123Z"}`

// BenchmarkSendMessage measures planning and sending a message, over the network of this machine,
// to a service that does next to nothing.
func BenchmarkSendMessage(b *testing.B) {
	sends := newSender(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := sends(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSendMessageAllocates bounds the allocations of a message: an engine does little else. The
// bound leaves room for what a pool loses under the race detector.
func TestSendMessageAllocates(t *testing.T) {
	sends := newSender(t)
	got := testing.AllocsPerRun(500, func() {
		if err := sends(); err != nil {
			t.Fatal(err)
		}
	})
	if got > 130 {
		t.Errorf("a message makes %v allocations", got)
	}
}

// newSender returns a function that plans and sends a message like an engine: with a context that
// can be cancelled, and a deadline.
func newSender(t testing.TB) func() error {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go answerMessages(l)
	client := must(service.New(service.Options{BaseURL: "http://" + l.Addr().String() + "/v1", APIKey: "key", MaxWait: -1, Allow: actions.MayCall}))
	t.Cleanup(client.CloseIdleConnections)
	send := must(actions.NewRegistry(must(builtin.New(builtin.Options{Client: client}))...)).Action("send_message")
	type key struct{}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ctx = context.WithValue(ctx, key{}, 1)
	s := &actions.Step{Key: "a key", Args: map[string]any{"text": "a 1"}, Subject: actions.Subject{Conversation: "0192f3a4-0000-7000-9000-000000000001"}}
	return func() error {
		s.Now, s.Until, s.Receipts = time.Now(), time.Time{}, s.Receipts[:0]
		next, err := send.Plan(ctx, s)
		if err != nil {
			return err
		}
		s.Until = s.Now.Add(time.Minute)
		r, err := send.Do(ctx, s, *next.Intent)
		if err != nil {
			return err
		}
		s.Receipts = append(s.Receipts, r)
		_, err = send.Plan(ctx, s)
		return err
	}
}

// answerMessages answers every request with a message.
func answerMessages(l net.Listener) {
	answer := fmt.Appendf(nil, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nDate: Fri, 13 Nov 2026 20:50:00 GMT\r\nContent-Length: %d\r\n\r\n%s", len(sentAnswer), sentAnswer)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			r := bufio.NewReader(c)
			for length := 0; ; {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
					length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
				}
				if len(line) > 2 {
					continue
				}
				if _, err := r.Discard(length); err != nil {
					return
				}
				if _, err := c.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}
