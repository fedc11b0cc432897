package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// A peer is another program that does the same job: a webhook comes in, its signature is right, a
// condition holds, one call goes out. Its script is called with
//
//	NAME.sh install                      to put it outside of the repository
//	NAME.sh version                      to print what was installed
//	NAME.sh path                         to print where it takes events
//	NAME.sh run FOLDER PORT SERVICE MORE to become it
//
// The last takes events on the port, has its data in the folder, and may use the ports MORE. It
// sends the message "a EVENT" to SERVICE/conversations/CONVERSATION/messages, and nothing for what
// is not signed as the anchor asks for: one that does is no slower peer but must not be used.
type peer struct {
	bench  *bench
	name   string
	script string
	folder string
	to     target
	ports  []string // free ones, of which the first is where events go
	next   atomic.Uint64
	forged map[uint64]string // events that must have no effect, and why

	cmd  *exec.Cmd
	done chan error
}

// comparePeers measures every peer that can be installed. One of the scripts is that of quando
// itself.
func (b *bench) comparePeers(ctx context.Context) error {
	if len(b.peers) == 0 {
		return fmt.Errorf("there is no peer: -peers names the folder with their scripts")
	}
	for _, script := range b.peers {
		p := &peer{bench: b, script: script, name: strings.TrimSuffix(filepath.Base(script), ".sh")}
		if err := p.compare(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.leaveOut(p.name, err)
		}
	}
	return nil
}

// compare installs a peer, loads it, and kills it under load.
func (p *peer) compare(ctx context.Context) (err error) {
	b := p.bench
	out, err := exec.CommandContext(ctx, "sh", p.script, "install").CombinedOutput()
	if err != nil {
		return fmt.Errorf("install: %w\n%s", err, out[max(0, len(out)-1000):])
	}
	version, err := p.says(ctx, "version")
	if err != nil {
		return err
	}
	p.name += " " + version
	path, err := p.says(ctx, "path")
	if err != nil {
		return err
	}
	if p.folder, err = os.MkdirTemp(b.folder, "peer"); err != nil {
		return err
	}
	addresses, err := freePorts(4)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		_, port, _ := net.SplitHostPort(a)
		p.ports = append(p.ports, port)
	}
	p.to = target{address: addresses[0], path: path}
	b.service.reset()
	if err := p.start(ctx, true); err != nil {
		return err
	}
	defer p.kill()
	defer p.settleForged()
	if err := p.forge(ctx); err != nil {
		return err
	}
	var ours, anchor series
	for i := range b.scale.rounds {
		if err := b.anchorRound(ctx, &anchor, b.scale.busy()); err != nil {
			return err
		}
		if err := p.round(ctx, &ours); err != nil {
			return err
		}
		b.printProgress("%s: round %d of %d", p.name, i+1, b.scale.rounds)
	}
	now, most := memoryOfAll(p.cmd.Process.Pid)
	b.add(p.name+": finished", "runs/s", ours.finished, anchor.acknowledged, "")
	b.add(p.name+": processor time", "µs/run", ours.processor, anchor.processor, "")
	b.add(p.name+": memory after load", "MB", []float64{megabytes(now)}, nil, "")
	b.add(p.name+": memory under load, at most", "MB", []float64{megabytes(most)}, nil, "")
	return p.crash(ctx)
}

// says runs the script with a question.
func (p *peer) says(ctx context.Context, question string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", p.script, question)
	cmd.Env = p.environment()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", question, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// environment is what scripts are called with.
func (p *peer) environment() []string { return append(os.Environ(), "QUANDO="+p.bench.quando) }

// start starts the peer and waits until it accepts an event and, with effective, until one has had
// its effect: until n8n is ready it answers everything with a waiting page and status 200.
func (p *peer) start(ctx context.Context, effective bool) error {
	log, err := os.OpenFile(filepath.Join(p.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	p.cmd = exec.CommandContext(ctx, "sh", append([]string{p.script, "run", p.folder, p.ports[0], p.bench.service.url()}, p.ports[1:]...)...)
	p.cmd.Env = p.environment()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.done = make(chan error, 1)
	go func(cmd *exec.Cmd, done chan<- error) { done <- cmd.Wait() }(p.cmd, p.done)
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		select {
		case ended := <-p.done:
			return fmt.Errorf("it ended: %w\n%s", ended, p.log())
		default:
		}
		c, err := dial(ctx, p.to)
		if err == nil {
			n := p.next.Add(1)
			c.expect(20 * time.Second)
			err = load{}.deliver(ctx, c, n)
			c.close()
			if err == nil && effective {
				if missing, _ := p.wait(ctx, n, n, 2*time.Second); missing > 0 {
					err = fmt.Errorf("event %d was acknowledged and had no effect", n)
				}
			}
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("it does not start: %w\n%s", err, p.log())
		}
	}
}

func (p *peer) log() []byte {
	text, _ := os.ReadFile(filepath.Join(p.folder, "log"))
	return text[max(0, len(text)-2000):]
}

func (p *peer) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		<-p.done
		p.cmd = nil
	}
}

// round loads the peer, and waits until every event has had its effect, or none has had one for a
// while.
func (p *peer) round(ctx context.Context, into *series) error {
	b, pid := p.bench, p.cmd.Process.Pid
	before, began := processorTimeOfAll(pid), time.Now()
	out, err := load{to: p.to, connections: b.scale.busy(), duration: b.scale.duration, next: &p.next}.run(ctx)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.log())
	}
	missing, last := p.wait(ctx, out.first, out.last, 5*time.Second)
	if missing > 0 {
		return fmt.Errorf("%d of %d events that it acknowledged had no effect", missing, out.events())
	}
	into.addRound(out, last.Sub(began), processorTimeOfAll(pid)-before, 0)
	return nil
}

// wait waits for the effects of events. It returns how many are missing after none has come for so
// long, and when the last came.
func (p *peer) wait(ctx context.Context, first, last uint64, patience time.Duration) (missing int, at time.Time) {
	at = time.Now()
	for before := -1; ; time.Sleep(2 * time.Millisecond) {
		missing = 0
		for n := first; n <= last; n++ {
			if !p.bench.service.has(effect{n, 'a'}) {
				missing++
			}
		}
		if missing != before {
			before, at = missing, time.Now()
		}
		if missing == 0 || ctx.Err() != nil || time.Since(at) > patience {
			return missing, at
		}
	}
}

// crash kills the peer under load, restarts it, and counts the acknowledged events by their effect.
func (p *peer) crash(ctx context.Context) error {
	b := p.bench
	first := p.next.Load() + 1
	acknowledged := make(chan []uint64, 1)
	go func() { acknowledged <- p.acknowledgedUntilDead(ctx) }()
	time.Sleep(b.scale.duration / 2)
	p.kill()
	list := <-acknowledged
	p.next.Store(max(p.next.Load(), first))
	if err := p.start(ctx, false); err != nil {
		return err
	}
	began, missing := time.Now(), 0
	for time.Since(began) < 30*time.Second {
		missing = 0
		for _, n := range list {
			if !b.service.has(effect{n, 'a'}) {
				missing++
			}
		}
		if missing == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, double := b.service.count()
	b.add(p.name+": acknowledged before kill -9", "events", []float64{float64(len(list))}, nil, "")
	b.add(p.name+": of them without effect 30 s after a restart", "events", []float64{float64(missing)}, nil, "")
	b.add(p.name+": effects that came twice", "effects", []float64{float64(double)}, nil, "")
	return nil
}

// acknowledgedUntilDead delivers until there are no more answers, and returns the acknowledged
// events.
func (p *peer) acknowledgedUntilDead(ctx context.Context) []uint64 {
	results := make(chan []uint64)
	for range p.bench.scale.busy() {
		go func() {
			var list []uint64
			defer func() { results <- list }()
			c, err := dial(ctx, p.to)
			if err != nil {
				return
			}
			defer c.close()
			for {
				n := p.next.Add(1)
				if (load{}).deliver(ctx, c, n) != nil {
					return
				}
				list = append(list, n)
			}
		}()
	}
	var all []uint64
	for range p.bench.scale.busy() {
		all = append(all, <-results...)
	}
	return all
}
