package postgrestest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy is between a journal and its server, and simulates faults of the network.
type Proxy struct {
	Delay  atomic.Int64 // of each transfer, in both directions
	Deaf   atomic.Bool  // drops answers of the server, and closes the connection
	Closed atomic.Bool  // refuses new connections

	listener net.Listener
	socket   string
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

// Through returns the address of a database through a proxy.
func (s *Server) Through(t testing.TB, address string) (*Proxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, socket: s.Socket(), conns: map[net.Conn]bool{}}
	go p.serve()
	t.Cleanup(func() { l.Close(); p.Cut() })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return p, "postgres://postgres@" + l.Addr().String() + u.Path + "?sslmode=disable"
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil || p.Closed.Load() {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		go p.pass(server, client, false)
		go p.pass(client, server, true)
	}
}

// pass copies data from one side to the other.
func (p *Proxy) pass(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if answers && p.Deaf.Load() {
				return
			}
			time.Sleep(time.Duration(p.Delay.Load()))
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Cut breaks all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}
