package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// An office is a whole desk under test: the sandbox service, which delivers its webhooks to `quando
// run`, started as a person would.
type office struct {
	t       *testing.T
	sandbox *sandbox.Sandbox
	address sandbox.Address
	secret  service.Secret // of the webhook

	folder   string // of the configuration
	log, out *clitest.Buffer
	public   string // http://127.0.0.1:…
	console  string
	end      context.CancelFunc
	done     chan int

	mu     sync.Mutex
	target string // where deliveries go
}

// newOffice starts the service and registers a webhook. Its address is ours, because that of quando
// is known only when it has started.
func newOffice(t *testing.T) *office {
	t.Helper()
	desktest.InTurn(t, 6, "TestFollow", "TestMCP", "TestBackupWhileRunning", "TestRunSignals", "TestRunReloads", "TestRunShared", "TestPauseUnderWay")
	s, err := sandbox.New(sandbox.Options{Seed: 7, AllowLoopback: true, KanbanEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, sandbox: s, folder: t.TempDir()}
	if o.address, err = s.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			o.mu.Lock()
			defer o.mu.Unlock()
			to, _ := url.Parse(o.target)
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.Path = to.Scheme, to.Host, to.Path
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Transport:    &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	})
	t.Cleanup(func() {
		if o.end != nil {
			o.stop()
		}
		s.Close()
		front.Close()
	})
	client, err := service.New(service.Options{BaseURL: o.address.BaseURL, APIKey: service.Secret(o.address.APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "quando", URL: front.URL, Events: vocabulary.EventTypes()})
	if err != nil {
		t.Fatal(err)
	}
	o.secret = hook.Secret
	return o
}

// service returns the service part of a configuration.
func (o *office) service() string {
	return fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { secrets: [%q] } }", o.address.BaseURL, o.address.APIKey, string(o.secret))
}

// config writes the configuration; without one, that of the default workspace.
func (o *office) config(extra string) string {
	o.t.Helper()
	name := filepath.Join(o.folder, "quando.yaml")
	clitest.WriteFile(o.t, name, "listen: \"127.0.0.1:0\"\nlog: { format: json, level: debug }\n"+extra+"\n")
	return name
}

func (o *office) write(name, text string) {
	o.t.Helper()
	clitest.WriteFile(o.t, filepath.Join(o.folder, name), text)
}

// start runs quando with what is added to the configuration, and waits until it listens.
func (o *office) start(extra string, args ...string) {
	o.t.Helper()
	if !strings.Contains(extra, "console:") {
		extra += "\nconsole: { listen: \"127.0.0.1:0\" }"
	}
	args = append([]string{"run", "--config", o.config(extra)}, args...)
	o.log, o.out, o.done = &clitest.Buffer{}, &clitest.Buffer{}, make(chan int, 1)
	ctx, cancel := context.WithCancel(context.Background())
	o.end = cancel
	go func() { o.done <- run(ctx, args, strings.NewReader(""), o.out, o.log) }()
	clitest.Eventually(o.t, func() (bool, string) {
		line := o.logged("listening")
		if line == nil {
			return false, o.log.String()
		}
		o.public, o.console = line["webhooks"].(string), line["console"].(string)
		return true, ""
	})
	o.deliverTo("/webhook")
}

// deliverTo sends the service's deliveries to an address of quando.
func (o *office) deliverTo(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.target = o.public + path
}

// stop ends quando as a signal does, and returns its exit code.
func (o *office) stop() int {
	o.t.Helper()
	o.end()
	o.end = nil
	select {
	case code := <-o.done:
		return code
	case <-time.After(time.Minute):
		o.t.Fatalf("it does not stop\n%s", o.log)
		return 0
	}
}

// logged returns the last line of the log with a message, or nil.
func (o *office) logged(message string) (line map[string]any) {
	for text := range strings.Lines(o.log.String()) {
		var v map[string]any
		if json.Unmarshal([]byte(text), &v) == nil && v["msg"] == message {
			line = v
		}
	}
	return line
}

// logs waits for a line of the log with a message and certain values.
func (o *office) logs(message string, values map[string]any) {
	o.t.Helper()
	clitest.Eventually(o.t, func() (bool, string) {
		line := o.logged(message)
		if line == nil {
			return false, "no " + message + " in\n" + o.log.String()
		}
		for k, v := range values {
			if fmt.Sprint(line[k]) != fmt.Sprint(v) {
				return false, fmt.Sprintf("%s is %v, not %v, in\n%s", k, line[k], v, o.log)
			}
		}
		return true, ""
	})
}

// writes lets a customer write, and waits until the service has delivered what came of it.
func (o *office) writes(phone, text string) sandbox.Written {
	o.t.Helper()
	w, err := o.sandbox.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: "Ana", Text: text})
	if err != nil {
		o.t.Fatal(err)
	}
	if err := o.sandbox.Settle(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	return w
}

// asks makes a request and returns its status and answer.
func (o *office) asks(method, address string, header map[string]string, body string) (int, string) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// shows waits until the metrics have these lines.
func (o *office) shows(lines ...string) {
	o.t.Helper()
	clitest.Eventually(o.t, func() (bool, string) {
		_, text := o.asks("GET", o.console+"/metrics", nil, "")
		for _, line := range lines {
			if !strings.Contains(text, line+"\n") {
				return false, "no " + line + " in\n" + text + "\n" + o.log.String()
			}
		}
		return true, ""
	})
}
