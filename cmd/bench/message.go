package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

// secret signs every delivery, and apiKey is what the imitated service is called with. Both belong
// to this machine's loopback alone.
const (
	secret = "bench-signing-secret"
	apiKey = "bench-key"
)

// conversations is the number of conversations, used in turn.
const conversations = 10_000

// eventPrefix begins the id of every event; twelve hexadecimal digits follow, which identify its
// effect.
const eventPrefix = "0192f3a4-0000-7000-8000-"

// delivered is what the service delivers when a customer writes. The marks stand for what differs:
// E the event, C the conversation, M the message, T the time.
const delivered = `{"id":"<E>","type":"message.received","created_at":"<T>","tenant_id":"7c65bdd8-1890-4c53-9bf6-ab1f2857706e","data":{` +
	`"message":{"id":"<M>","conversation_id":"<C>","client_id":null,"text":"Good morning, is my order on its way? keyword-0","media_id":null,"reply_to_external_id":null,` +
	`"external_id":"wamid.<M>","direction":"inbound","sender":{"kind":"customer","id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","name":"Ana"},"created_at":"<T>"},` +
	`"conversation":{"id":"<C>","kind":"direct","archived":false,"pinned":false,"muted":false,"name":"Ana","label_ids":[],"channel_id":"1176a058-713b-4033-a84d-0e6b373793ce",` +
	`"contact_id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","phone":"+5511988887777","assignee_id":null,"sector_id":null,"unread":true,"unread_count":1,` +
	`"last_message":{"id":"<M>","text":"Good morning, is my order on its way? keyword-0","direction":"inbound","created_at":"<T>"},"created_at":"<T>","updated_at":"<T>"},` +
	`"contact":{"id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","name":"Ana","phone":"+5511988887777","company":null,"city":null,"channel_id":null,"label_ids":[],"blocked":false,` +
	`"created_at":"<T>","updated_at":"<T>"}}}`

// A writer formats deliveries as the service does. It is for one connection.
type writer struct {
	head  []byte // of every request: its first line and what stays the same
	parts []part
	body  []byte
	out   []byte
	mac   hash.Hash
	apart bool // each event has a conversation of its own
}

// A part is a piece of the body and the mark that follows it.
type part struct {
	text []byte
	mark byte // 0 at the end
}

func newWriter(host, path string) *writer {
	w := &writer{mac: hmac.New(sha256.New, []byte(secret))}
	w.head = []byte("POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nUser-Agent: bench\r\nX-Service-Event: message.received\r\n")
	for rest := []byte(delivered); ; {
		i := bytes.IndexByte(rest, '<')
		if i < 0 {
			w.parts = append(w.parts, part{text: rest})
			return w
		}
		w.parts = append(w.parts, part{text: rest[:i], mark: rest[i+1]})
		rest = rest[i+3:]
	}
}

// bodySize is how long the body of a delivery is.
func bodySize() int {
	w := newWriter("", "")
	w.write(1, time.Now())
	return len(w.body)
}

// write returns the request that delivers event n. It is valid until the next call.
func (w *writer) write(n uint64, now time.Time) []byte {
	w.body = w.body[:0]
	for _, p := range w.parts {
		w.body = append(w.body, p.text...)
		switch p.mark {
		case 'E':
			w.body = appendID(w.body, eventPrefix, n)
		case 'C':
			conversation := n
			if !w.apart {
				conversation %= conversations
			}
			w.body = appendID(w.body, "0192f3a4-0000-7000-9000-", conversation)
		case 'M':
			w.body = appendID(w.body, "0192f3a4-0000-7000-a000-", n)
		case 'T':
			w.body = now.UTC().AppendFormat(w.body, "2006-01-02T15:04:05.000Z")
		}
	}
	var number, sum [sha256.Size]byte
	timestamp := strconv.AppendInt(number[:0], now.Unix(), 10)
	w.mac.Reset()
	w.mac.Write(timestamp)
	w.mac.Write([]byte("."))
	w.mac.Write(w.body)
	w.out = append(append(w.out[:0], w.head...), "X-Service-Event-Id: "...)
	w.out = append(appendID(w.out, eventPrefix, n), "\r\nX-Service-Delivery: "...)
	w.out = append(appendID(w.out, "0192f3a4-0000-7000-b000-", n), "\r\nX-Service-Timestamp: "...)
	w.out = append(append(w.out, timestamp...), "\r\nX-Service-Signature: sha256="...)
	w.out = append(hex.AppendEncode(w.out, w.mac.Sum(sum[:0])), "\r\nContent-Length: "...)
	w.out = append(strconv.AppendInt(w.out, int64(len(w.body)), 10), "\r\n\r\n"...)
	w.out = append(w.out, w.body...)
	return w.out
}

// appendID writes an id with twelve hexadecimal digits at its end.
func appendID(b []byte, prefix string, n uint64) []byte {
	b = append(b, prefix...)
	for shift := 44; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[n>>shift&15])
	}
	return b
}
