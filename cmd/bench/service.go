package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A messenger imitates the part of the messaging service that is called: it sends a message once
// per client_id, and remembers for which event. It does the minimum per call, so that its own cost
// is not measured: the sandbox keeps a whole desk.
type messenger struct {
	listener net.Listener
	stop     atomic.Bool
	delay    time.Duration // before each answer

	shards  [64]shard
	calls   atomic.Int64 // messages requested
	repeats atomic.Int64 // of them, repeats with the same client_id
	others  atomic.Int64 // every other request
	watch   atomic.Pointer[func(effect, time.Time)]
}

// An effect is a message in answer to an event. The letter tells two of one event apart.
type effect struct {
	event  uint64
	letter byte
}

type shard struct {
	sync.Mutex
	sent map[effect][]string // client ids: more than one is a message too many
	_    [40]byte            // no two in one cache line
}

func newMessenger() (*messenger, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &messenger{listener: l}
	m.reset()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m, nil
}

func (m *messenger) url() string { return "http://" + m.listener.Addr().String() + "/v1" }

func (m *messenger) close() error {
	m.stop.Store(true)
	return m.listener.Close()
}

// reset begins a new account.
func (m *messenger) reset() {
	for i := range m.shards {
		m.shards[i].Lock()
		m.shards[i].sent = map[effect][]string{}
		m.shards[i].Unlock()
	}
	m.calls.Store(0)
	m.repeats.Store(0)
	m.others.Store(0)
	m.watch.Store(nil)
}

// count returns how many effects there are, and how many of them more than once.
func (m *messenger) count() (effects, double int) {
	for i := range m.shards {
		m.shards[i].Lock()
		effects += len(m.shards[i].sent)
		for _, ids := range m.shards[i].sent {
			if len(ids) > 1 {
				double++
			}
		}
		m.shards[i].Unlock()
	}
	return effects, double
}

// has reports whether an event has had an effect.
func (m *messenger) has(e effect) bool {
	s := &m.shards[e.event%uint64(len(m.shards))]
	s.Lock()
	defer s.Unlock()
	return len(s.sent[e]) > 0
}

func (m *messenger) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReaderSize(c, 16<<10)
	var line, body, out, answer []byte
	for !m.stop.Load() {
		var length int
		var err error
		if line, length, err = readHead(r, line); err != nil {
			return
		}
		if body, err = readBody(r, length, body); err != nil {
			return
		}
		status := "200 OK"
		if bytes.HasPrefix(line, []byte("POST ")) && bytes.Contains(line, []byte("/messages ")) {
			status = "201 Created"
			answer = m.send(line, body, answer[:0])
		} else {
			m.others.Add(1)
			answer = append(answer[:0], lookup(line)...)
		}
		if m.delay > 0 {
			time.Sleep(m.delay)
		}
		out = append(append(out[:0], "HTTP/1.1 "...), status...)
		out = time.Now().UTC().AppendFormat(append(out, "\r\nContent-Type: application/json\r\nDate: "...), "Mon, 02 Jan 2006 15:04:05 GMT")
		out = strconv.AppendInt(append(out, "\r\nContent-Length: "...), int64(len(answer)), 10)
		out = append(append(out, "\r\n\r\n"...), answer...)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// lookup answers the calls of a start: the key's identity, and empty lists of names.
func lookup(line []byte) string {
	switch {
	case bytes.HasPrefix(line, []byte("GET /v1/me ")):
		return `{"id":"a7a3a18e-3b98-4109-9c55-ea7a178af9a7","name":"Bench","scopes":["messages:send"],"api_version":"1.1.0"}`
	case bytes.HasPrefix(line, []byte("GET /v1/kanban/boards")):
		return `[]`
	}
	return `{"data":[],"next_cursor":null}`
}

// send answers a message as the service does: the message itself, the same one for every repeat.
func (m *messenger) send(line, body, answer []byte) []byte {
	m.calls.Add(1)
	client, text := member(body, "client_id"), member(body, "text")
	m.recordMessage(text, string(client))
	id := append([]byte(nil), client...)
	if len(id) == 36 {
		id[14] = '8' // a unique id, derived from the key
	}
	_, path, _ := bytes.Cut(line, []byte("/conversations/"))
	conversation, _, _ := bytes.Cut(path, []byte("/"))
	return fmt.Appendf(answer, `{"id":"%s","conversation_id":"%s","client_id":"%s","text":"%s","media_id":null,"reply_to_external_id":null,"external_id":"wamid.%s",`+
		`"direction":"outbound","sender":{"kind":"api","id":"a7a3a18e-3b98-4109-9c55-ea7a178af9a7","name":"Bench"},"created_at":"%s"}`,
		id, conversation, client, text, id, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
}

// member returns a text of a flat JSON object whose texts need no escape.
func member(body []byte, name string) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":`))
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	value, _, _ := bytes.Cut(rest[1:], []byte(`"`))
	return value
}

// recordMessage remembers a message. Its text is a letter, a blank and the id of the event that it
// answers.
func (m *messenger) recordMessage(text []byte, client string) {
	if len(text) < 38 || !bytes.HasPrefix(text[2:], []byte(eventPrefix)) {
		m.others.Add(1)
		return
	}
	n, err := strconv.ParseUint(string(text[2+len(eventPrefix):38]), 16, 64)
	if err != nil {
		m.others.Add(1)
		return
	}
	e := effect{n, text[0]}
	s := &m.shards[n%uint64(len(m.shards))]
	s.Lock()
	defer s.Unlock()
	ids := s.sent[e]
	for _, id := range ids {
		if id == client && client != "" {
			m.repeats.Add(1)
			return
		}
	}
	s.sent[e] = append(ids, client)
	if watch := m.watch.Load(); watch != nil {
		(*watch)(e, time.Now())
	}
}
