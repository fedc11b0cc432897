package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A forgery is a delivery that must have no effect.
type forgery struct {
	about string
	write func(w *writer, n uint64) []byte
}

// forgeries are deliveries that differ from a right one in one thing each.
var forgeries = []forgery{
	{"is signed with another secret", func(w *writer, n uint64) []byte {
		w.mac = hmac.New(sha256.New, []byte("another-secret"))
		return w.write(n, time.Now())
	}},
	{"was changed after it was signed", func(w *writer, n uint64) []byte {
		return bytes.ReplaceAll(w.write(n, time.Now()), []byte("keyword-0"), []byte("keyword-1"))
	}},
	{"was signed an hour ago", func(w *writer, n uint64) []byte { return w.write(n, time.Now().Add(-time.Hour)) }},
	{"has the time of another signature", func(w *writer, n uint64) []byte {
		now := time.Now()
		before, after := fmt.Appendf(nil, "Timestamp: %d", now.Unix()), fmt.Appendf(nil, "Timestamp: %d", now.Unix()+1)
		return bytes.ReplaceAll(w.write(n, now), before, after)
	}},
	{"is not signed", func(w *writer, n uint64) []byte {
		return bytes.ReplaceAll(w.write(n, time.Now()), []byte("X-Service-Signature"), []byte("X-Service-Something"))
	}},
	{"has no time", func(w *writer, n uint64) []byte {
		return bytes.ReplaceAll(w.write(n, time.Now()), []byte("X-Service-Timestamp"), []byte("X-Service-Something"))
	}},
}

// forge delivers every forgery. It reports a peer's answer without judging it: some can only accept
// a delivery first and drop it then.
func (p *peer) forge(ctx context.Context) error {
	p.forged = map[uint64]string{}
	var answers []int
	for _, f := range forgeries {
		c, err := dial(ctx, p.to)
		if err != nil {
			return err
		}
		n := p.next.Add(1)
		p.forged[n] = f.about
		c.expect(20 * time.Second)
		status, err := c.send(f.write(c.w, n))
		c.close()
		if err != nil {
			return fmt.Errorf("a delivery that %s was not answered: %w", f.about, err)
		}
		answers = append(answers, status)
	}
	p.bench.printProgress("%s: forged deliveries were answered with %d", p.name, answers)
	return nil
}

// settleForged notes every forgery that has had an effect. It runs at the end, after all later
// deliveries have settled.
func (p *peer) settleForged() {
	for _, n := range slices.Sorted(maps.Keys(p.forged)) {
		if p.bench.service.has(effect{n, 'a'}) {
			p.bench.problem("%s made the call for a delivery that %s", p.name, p.forged[n])
		}
	}
}
