package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

// newClient returns a client of a workspace's service. It refuses to send the key unencrypted to
// another machine, unless the configuration allows it.
func (w *workspace) newClient(o service.Options) (*service.Client, error) {
	client, err := service.New(o)
	if err == nil && client.Exposed() && w.Service.APIKey != "" && !w.Service.PlainHTTP {
		return nil, errors.New("service.base_url is not https, so that everybody on the way could read the API key; use https, or where nobody else is on the way set service.plain_http: true")
	}
	return client, err
}

// exposedFiles returns the files of a journal that group or others may read or write, and whether
// others may.
func exposedFiles(where string) (files []string, everybody bool) {
	if isAddress(where) || runtime.GOOS == "windows" { // which has no such modes
		return nil, false
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(where + end)
		if err != nil {
			continue
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			files, everybody = append(files, where+end), everybody || mode&0o007 != 0
		}
	}
	return files, everybody
}

// exposedMend returns the command that keeps others out.
func exposedMend(files []string) string { return "chmod 600 " + strings.Join(files, " ") }

// tellExposed warns when others may read the journal, which holds what customers wrote.
func tellExposed(where string, log *slog.Logger) {
	if files, _ := exposedFiles(where); len(files) > 0 {
		log.Warn("others may read the journal", "files", files, "mend", exposedMend(files))
	}
}

// hiddenAttr takes credentials in addresses out of what is logged.
func hiddenAttr(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	}
	if strings.Contains(text, "://") {
		a.Value = slog.StringValue(rules.HideText(text))
	}
	return a
}

// strictTransport adds HSTS to answers over TLS. It leaves out localhost, which other programs on
// this machine serve without TLS.
func strictTransport(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && !isLocalName(r.Host) {
			w.Header().Set("Strict-Transport-Security", "max-age=15552000")
		}
		h.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host is an IP address or localhost.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return net.ParseIP(strings.Trim(host, "[]")) != nil || strings.EqualFold(host, "localhost")
}

// unknownWorkspaceHandler answers deliveries for workspaces that do not exist exactly as a receiver
// with an unknown secret does, so that strangers cannot list the workspaces. It logs at most once a
// minute, because the address may be a slip.
func unknownWorkspaceHandler(profile *service.Profile, bodies *webhook.Bodies, log *slog.Logger) (http.Handler, error) {
	secret := service.Secret(rand.Text())
	receiver, err := webhook.New(webhook.Options{
		Profile: profile, Bodies: bodies, Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} },
		Sink: func(context.Context, ...rules.Event) ([]bool, error) { return nil, fs.ErrPermission }, // no delivery gets here: the secret is random
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var told time.Time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		due := time.Since(told) >= time.Minute
		if due {
			told = time.Now()
		}
		mu.Unlock()
		if due {
			log.Warn("a delivery came for a workspace that is not there", "path", cut(r.URL.Path, 100))
		}
		receiver.ServeHTTP(w, r)
	}), nil
}
