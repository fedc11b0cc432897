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

// newClient returns a client of a workspace's service. A key does not travel unencrypted to another machine unless the configuration says so.
func (w *workspace) newClient(o service.Options) (*service.Client, error) {
	client, err := service.New(o)
	if err == nil && client.Exposed() && w.Service.APIKey != "" && !w.Service.PlainHTTP {
		return nil, errors.New("service.base_url is not https, so that everybody on the way could read the API key; use https, or where nobody else is on the way set service.plain_http: true")
	}
	return client, err
}

// exposedFiles returns the files of a journal that others than their owner may read or write, and whether everybody may.
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

// exposedMend says how others are kept out of files.
func exposedMend(files []string) string { return "chmod 600 " + strings.Join(files, " ") }

// tellExposed logs that others may read the journal: it has what customers wrote, their names and their phones.
func tellExposed(where string, log *slog.Logger) {
	if files, _ := exposedFiles(where); len(files) > 0 {
		log.Warn("others may read the journal", "files", files, "mend", exposedMend(files))
	}
}

// hiddenAttr takes credentials out of what is logged: of addresses, which may have some in them, wherever they stand.
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

// strictTransport tells browsers to come encrypted for half a year, where they do. Of this machine's own names other programs use others.
func strictTransport(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && !isLocalName(r.Host) {
			w.Header().Set("Strict-Transport-Security", "max-age=15552000")
		}
		h.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host is an address, or a name of this machine.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return net.ParseIP(strings.Trim(host, "[]")) != nil || strings.EqualFold(host, "localhost")
}

// nobodyHandler answers deliveries for workspaces that are not there as those are answered that have another secret, so that nobody finds out which
// there are. Once a minute the log tells of it: an address may have a slip in it.
func nobodyHandler(profile *service.Profile, bodies *webhook.Bodies, log *slog.Logger) (http.Handler, error) {
	secret := service.Secret(rand.Text())
	receiver, err := webhook.New(webhook.Options{
		Profile: profile, Bodies: bodies, Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} },
		Sink: func(context.Context, ...rules.Event) ([]bool, error) { return nil, fs.ErrPermission }, // nobody knows the secret
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
