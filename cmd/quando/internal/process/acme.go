package process

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
)

// An authority gets certificates from an ACME server such as Let's Encrypt, and renews them when a
// third of their lifetime is left.
type authority struct {
	hosts   []string
	manager *autocert.Manager
	http    string // an address for the server's questions over plain HTTP; empty is that they come over TLS
	log     *slog.Logger

	mu    sync.Mutex
	until map[string]time.Time // by host
}

// newACME returns an authority according to the configuration.
func newACME(c *config.Config, log *slog.Logger) (*authority, error) {
	t := c.TLS.ACME
	cache := c.Path(t.Cache)
	if cache == "" {
		if cache = c.Path("acme"); !storage.IsDatabase(c.JournalPath()) {
			cache = filepath.Join(filepath.Dir(c.JournalPath()), "acme")
		}
	}
	// The keys are in it.
	err := os.MkdirAll(cache, 0o700)
	if err == nil {
		err = os.Chmod(cache, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("tls.acme.cache: %w", cli.FileError(err))
	}
	client := &acme.Client{DirectoryURL: cmp.Or(t.Directory, autocert.DefaultACMEDirectory), UserAgent: "quando/" + cli.Version()}
	if t.Roots != "" {
		roots := x509.NewCertPool()
		text, err := os.ReadFile(c.Path(t.Roots))
		if err != nil {
			return nil, fmt.Errorf("tls.acme.roots: %w", cli.FileError(err))
		}
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls.acme.roots: there is no certificate in %s", c.Path(t.Roots))
		}
		client.HTTPClient = &http.Client{Timeout: time.Minute, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	}
	a := &authority{hosts: t.Hosts, http: t.HTTP, log: log, until: make(map[string]time.Time)}
	a.manager = &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(cache), HostPolicy: listed(t.Hosts), Client: client, Email: t.Email}
	return a, nil
}

// listed allows certificates for these hosts only. A plain HTTP request may name the port too.
func listed(hosts []string) autocert.HostPolicy {
	policy := autocert.HostWhitelist(hosts...)
	return func(ctx context.Context, host string) error {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		return policy(ctx, host)
	}
}

func (a *authority) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, err := a.manager.GetCertificate(hello)
	if err != nil || len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return c, err // the second is the server's challenge, answered with a certificate for it alone
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.until[hello.ServerName]; !old.Equal(c.Leaf.NotAfter) {
		a.log.Info("a certificate is in use", "host", hello.ServerName, "until", c.Leaf.NotAfter)
		a.until[hello.ServerName] = c.Leaf.NotAfter
	}
	return c, nil
}

func (a *authority) protocols() []string { return []string{acme.ALPNProto} }

func (a *authority) name() string { return a.hosts[0] }

func (a *authority) expires() (first time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, until := range a.until {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first
}

// The interval of certificate checks; a failed request is retried with a backoff that doubles,
// because servers count.
const (
	askAgain  = time.Minute
	lookAgain = time.Hour
)

// run gets the certificate of every host in advance, so that no delivery waits for one, and logs
// when there is none.
func (a *authority) run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	if a.http != "" {
		l, err := Listen(ctx, "tls.acme.http", a.http)
		if err != nil {
			return err
		}
		// It answers the server's challenges, and redirects everything else to https.
		s := newServer(a.manager.HTTPHandler(nil), a.log)
		l = boundConnections(l, s, "tls.acme.http", unverifiedIdle, a.log)
		all.Go(func() { _ = serve(s, false, l) })
		context.AfterFunc(ctx, func() { _ = s.Close() })
	}
	for _, host := range a.hosts {
		all.Go(func() { a.keepCertificate(ctx, host) })
	}
	return nil
}

// keepCertificate keeps the certificate of a host current.
func (a *authority) keepCertificate(ctx context.Context, host string) {
	for pause := askAgain; ctx.Err() == nil; {
		wait := lookAgain
		if err := a.getCertificate(ctx, host); err != nil && ctx.Err() == nil {
			a.log.Error("no certificate could be had", "host", host, "error", err, "again", pause)
			wait, pause = pause, min(2*pause, lookAgain)
		} else {
			pause = askAgain
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// getCertificate gets the certificate of a host, as a modern client would. The library cannot be
// interrupted; ask returns without it when ctx ends.
func (a *authority) getCertificate(ctx context.Context, host string) error {
	done := make(chan error, 1)
	go func() {
		_, err := a.get(&tls.ClientHelloInfo{ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
		done <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		return err
	}
}
