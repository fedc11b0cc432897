package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/console"
)

// certificates are what an address is encrypted with.
type certificates interface {
	// get returns the certificate for a new connection.
	get(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	// protocols are those beside HTTP.
	protocols() []string
	// expires is when the first of the certificates in use does; the zero time is that there is
	// none.
	expires() time.Time
	// name is one that a certificate exists for, or any.
	name() string
	// run renews them until ctx ends.
	run(ctx context.Context) error
}

// newCertificates returns the certificates according to the configuration; nil if there are none.
func newCertificates(c *config.Config, log *slog.Logger) (certificates, error) {
	t := c.TLS
	switch {
	case t.Cert == "" && t.Key == "" && len(t.ACME.Hosts) == 0:
		if t.ACME.Email+t.ACME.Cache+t.ACME.Directory+t.ACME.HTTP+t.ACME.Roots != "" {
			return nil, errors.New("tls.acme.hosts is missing; list the names that certificates are wanted for")
		}
		return nil, nil
	case len(t.ACME.Hosts) > 0 && t.Cert+t.Key != "":
		return nil, errors.New("tls has a certificate of its own and acme; take one of them away")
	case len(t.ACME.Hosts) > 0:
		return newACME(c, log)
	case t.Cert == "" || t.Key == "":
		return nil, errors.New("tls needs both cert and key, each the name of a file")
	}
	p := &pair{cert: c.Path(t.Cert), key: c.Path(t.Key), log: log, now: time.Now}
	if _, err := p.read(); err != nil {
		return nil, err
	}
	return p, nil
}

// encryptsConsole reports whether the console is encrypted too. A loopback address is not, unless
// configured: certificates are not for its name.
func encryptsConsole(c *config.Config) bool {
	if c.Console.TLS != nil {
		return *c.Console.TLS
	}
	return !console.IsLoopback(c.Console.Listen)
}

// tlsConfig returns what a server encrypts with.
func tlsConfig(c certificates) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: append([]string{"h2", "http/1.1"}, c.protocols()...)}
}

// rereadAfter is how long files are believed to be as they were.
const rereadAfter = time.Second

// A pair is a certificate and its key in two files, renewed by another program. They are re-read on
// change: a renewal needs no restart.
type pair struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	looked  time.Time
	raw     [2][]byte // of the certificate in use
	current *tls.Certificate
	wrong   string // why the files are not in use as they are
}

func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.read() }

func (p *pair) protocols() []string { return nil }

func (p *pair) name() string { return "localhost" }

func (p *pair) expires() time.Time {
	c, err := p.read()
	if err != nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// run implements certificates. Each handshake checks whether the certificate has changed.
func (p *pair) run(context.Context) error { return nil }

// read returns the certificate of the files. While they are half written, or wrong, the one before
// stays in use.
func (p *pair) read() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.current == nil || now.Sub(p.looked).Abs() >= rereadAfter {
		p.looked = now
		if err := p.reread(); err != nil {
			if p.current == nil {
				return nil, fmt.Errorf("tls: %w", err)
			}
			if p.wrong != err.Error() {
				p.log.Error("the certificate on disk cannot be used; the one before stays in use", "cert", p.cert, "error", err)
			}
			p.wrong = err.Error()
		} else {
			p.wrong = ""
		}
	}
	return p.current, nil
}

// reread loads the files, if they have another certificate.
func (p *pair) reread() error {
	var raw [2][]byte
	for i, name := range []string{p.cert, p.key} {
		var err error
		if raw[i], err = os.ReadFile(name); err != nil {
			return cli.FileError(err)
		}
	}
	if bytes.Equal(raw[0], p.raw[0]) && bytes.Equal(raw[1], p.raw[1]) {
		return nil
	}
	c, err := tls.X509KeyPair(raw[0], raw[1])
	if err != nil {
		return fmt.Errorf("%s and %s: %w", p.cert, p.key, err)
	}
	if p.current != nil {
		p.log.Info("the certificate was renewed", "cert", p.cert, "until", c.Leaf.NotAfter)
	}
	p.raw, p.current = raw, &c
	return nil
}
