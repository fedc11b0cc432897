// Package config reads and checks quando.yaml, the environment and the rule files that they name.
package config

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/alerts"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// Config is what quando.yaml says, with the environment's overrides.
type Config struct {
	Workspace                       // the workspace "default"
	Workspaces map[string]Workspace // the others

	Listen string // webhooks and health
	TLS    struct {
		Cert, Key string // files
		ACME      struct {
			Hosts                                []string
			Email, Cache, Directory, HTTP, Roots string
		}
	}
	Journal string // a file, or postgres://…
	Keep    time.Duration

	SecretKey     service.Secret // with which secrets are sealed in the journal
	SecretKeyFile string         // of the key; empty is beside the journal

	Console struct {
		Listen    string
		Token     service.Secret
		Users     map[string]console.User
		Hosts     []string
		Forwarded string // the header with the client address from a proxy
		ReadOnly  bool   // rules cannot be written through it
		TLS       *bool  // whether it is encrypted as listen is; nil is where it is not a loopback address
		PublicURL string // under which people open it; may be empty
	}
	MCP    MCP
	Alerts Alerts
	Traces struct{ Endpoint string } // of the collector; the environment may name it too
	Log    struct {
		Level  string
		Format string
	}

	Folder    string            // of the file: relative paths start from it
	Now       func() time.Time  // that everything lives in; nil is this machine's
	Simulator console.Simulator // of the default workspace; nil is that of service.sandbox
	Outside   http.RoundTripper // answers http_request in place of the other systems; nil is these
}

// Workspace is one company: its service, its rules and its bounds.
type Workspace struct {
	Service struct {
		BaseURL   string
		APIKey    service.Secret
		PlainHTTP bool // the key may travel unencrypted
		Profile   string
		Sandbox   string  // the control interface, where the service is a sandbox
		Rate      float64 // requests per second
		Timeout   time.Duration
		Webhook   struct {
			Secrets   []service.Secret
			PublicURL string
			Check     time.Duration // the time between checks of the webhook
			Retired   time.Duration // how long a replaced secret counts for everything; 0 is not
		}
	}
	Rules  string
	Safety struct {
		MessagesPerConversation duration.Rate
		Messages                duration.Rate
		Internal                []string // phones and ids of conversations that are not counted
	}
	Backfill struct {
		Every time.Duration // 0 is off
		Cards time.Duration
	}
	HTTPRequest struct {
		Allow     []string
		Headers   map[string]map[string]service.Secret // by host
		PlainHTTP bool                                 // they may travel unencrypted
	}
	People   service.People // whom rules can write to by name
	Timezone *time.Location
}

// Default is the configuration without a file.
func Default() *Config {
	c := &Config{Listen: ":8080", Journal: "quando.db", Keep: 30 * 24 * time.Hour}
	c.Console.Listen = "127.0.0.1:8081"
	c.Alerts.Linger, c.Alerts.Limit, c.Alerts.Language = alerts.DefaultLinger, alerts.DefaultLimit, "en"
	c.Log.Level, c.Log.Format = "info", "text"
	c.Workspace = DefaultWorkspace()
	return c
}

// DefaultWorkspace is a workspace's configuration without a file.
func DefaultWorkspace() Workspace {
	var w Workspace
	w.Rules = "rules"
	w.Service.Timeout = 10 * time.Second
	w.Service.Webhook.Check = 50 * time.Second // what was switched off is active again within a minute
	w.Backfill.Every, w.Backfill.Cards = 5*time.Minute, 15*time.Second
	w.Safety.MessagesPerConversation, w.Safety.Messages = engine.DefaultSafety.PerConversation, engine.DefaultSafety.Messages
	// A zone that the binary carries always loads; the service's own default is the same.
	w.Timezone, _ = time.LoadLocation("America/Sao_Paulo")
	return w
}

// Load reads the file and the environment. A missing file is an error unless mayBeMissing.
func Load(file string, mayBeMissing bool) (*Config, error) { return load(file, mayBeMissing, true) }

// LoadOf reads a configuration beside the one of the command: the environment overrides nothing in
// it.
func LoadOf(file string) (*Config, error) { return load(file, false, false) }

func load(file string, mayBeMissing, environment bool) (*Config, error) {
	c := Default()
	c.Folder = filepath.Dir(file)
	text, err := cli.ReadBounded(file)
	if err != nil {
		if _, statErr := os.Stat(file); !mayBeMissing || !os.IsNotExist(statErr) {
			return nil, err
		}
	}
	f, problems := source.Read(file, text)
	d := newReader(file, problems)
	if len(problems) == 0 {
		d.mapping(f.Root, "", c.settings())
	}
	if environment {
		d.environment("QUANDO", c.settings())
	}
	c.checkAlerts(d, f.Root)
	if err := configError(d.problems); err != nil {
		return nil, err
	}
	return c, nil
}

// Check reads the configuration of a command for what is wrong with it; nil where there is no file.
// A missing file is an error only if it was named explicitly. A variable that the environment lacks
// is no problem, because rules are checked on other machines than those that run them: it stays
// as it is written in the list of systems that rules may call.
func Check(cmd *cobra.Command) (*Config, source.Problems, error) {
	file, _ := cmd.Flags().GetString("config")
	if _, err := os.Stat(file); os.IsNotExist(err) && !cmd.Flags().Changed("config") {
		return nil, nil, nil
	}
	return check(file, true)
}

// CheckOf does the same for a configuration beside the one of the command: the environment
// overrides nothing in it.
func CheckOf(file string) (*Config, source.Problems, error) { return check(file, false) }

func check(file string, environment bool) (*Config, source.Problems, error) {
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, nil, err
	}
	c := Default()
	c.Folder = filepath.Dir(file)
	f, problems := source.Read(file, text)
	d := newReader(file, problems)
	d.elsewhere = true
	if len(problems) == 0 {
		d.mapping(f.Root, "", c.settings())
	}
	if environment {
		d.environment("QUANDO", c.settings())
	}
	c.checkAlerts(d, f.Root)
	return c, d.problems, nil
}

// configError returns all problems of a configuration as one error, or nil.
func configError(problems source.Problems) error {
	if err := problems.Sort().Err(); err != nil {
		return fmt.Errorf("the configuration cannot be used:\n%w", err)
	}
	return nil
}

// Path resolves a path of the configuration against its folder.
func (c *Config) Path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.Folder, p)
}

// settings lists every key of the file with the field that it sets.
func (c *Config) settings() settings {
	s := append(append(c.Workspace.settings(), c.Alerts.settings()...), c.MCP.settings()...)
	return append(s, settings{
		{"listen", address(&c.Listen)},
		{"tls.cert", text(&c.TLS.Cert)},
		{"tls.key", text(&c.TLS.Key)},
		{"tls.acme.hosts", hostNames(&c.TLS.ACME.Hosts)},
		{"tls.acme.email", text(&c.TLS.ACME.Email)},
		{"tls.acme.cache", text(&c.TLS.ACME.Cache)},
		{"tls.acme.directory", text(&c.TLS.ACME.Directory)},
		{"tls.acme.http", address(&c.TLS.ACME.HTTP)},
		{"tls.acme.roots", text(&c.TLS.ACME.Roots)},
		{"journal", text(&c.Journal)},
		{"keep", period(&c.Keep)},
		{"secret_key", secret(&c.SecretKey)},
		{"secret_key_file", text(&c.SecretKeyFile)},
		{"console.listen", address(&c.Console.Listen)},
		{"console.token", secret(&c.Console.Token)},
		{"console.users", users(&c.Console.Users)},
		{"console.hosts", someTexts(&c.Console.Hosts, "list the names under which the console is asked for, or take the setting away")},
		{"console.forwarded_for", headerName(&c.Console.Forwarded)},
		{"console.read_only", yesOrNo(&c.Console.ReadOnly)},
		{"console.tls", func(d *reader, n *source.Node) {
			c.Console.TLS = new(bool)
			yesOrNo(c.Console.TLS)(d, n)
		}},
		{"console.public_url", webAddress(&c.Console.PublicURL)},
		{"traces.endpoint", text(&c.Traces.Endpoint)},
		{"log.level", choice(&c.Log.Level, "debug", "info", "warn", "error")},
		{"log.format", choice(&c.Log.Format, "text", "json")},
		{"workspaces", c.readWorkspaces},
	}...)
}

func (w *Workspace) settings() settings {
	return settings{
		{"service.base_url", text(&w.Service.BaseURL)},
		{"service.api_key", secret(&w.Service.APIKey)},
		{"service.plain_http", yesOrNo(&w.Service.PlainHTTP)},
		{"service.profile", text(&w.Service.Profile)},
		{"service.sandbox", text(&w.Service.Sandbox)},
		{"service.rate", perSecond(&w.Service.Rate)},
		{"service.timeout", period(&w.Service.Timeout)},
		{"service.webhook.secrets", secrets(&w.Service.Webhook.Secrets)},
		{"service.webhook.public_url", text(&w.Service.Webhook.PublicURL)},
		{"service.webhook.check", period(&w.Service.Webhook.Check)},
		{"service.webhook.retired_secrets", durationOrOff(&w.Service.Webhook.Retired)},
		{"rules", text(&w.Rules)},
		{"safety.messages_per_conversation", bound(&w.Safety.MessagesPerConversation)},
		{"safety.messages", bound(&w.Safety.Messages)},
		{"safety.internal", chats(&w.Safety.Internal)},
		{"backfill.every", durationOrOff(&w.Backfill.Every)},
		{"backfill.cards", period(&w.Backfill.Cards)},
		{"http_request.allow", texts(&w.HTTPRequest.Allow)},
		{"http_request.headers", headers(&w.HTTPRequest.Headers)},
		{"http_request.plain_http", yesOrNo(&w.HTTPRequest.PlainHTTP)},
		{"people", people(&w.People)},
		{"timezone", zone(&w.Timezone)},
	}
}

// readWorkspaces reads the workspaces beside the default one. Each has its own service, rules and
// bounds.
func (c *Config) readWorkspaces(d *reader, n *source.Node) {
	if n.Kind != source.Mapping {
		d.report(n, say("as in %s", "workspaces: { acme: { service: … } }"), "workspaces must be a mapping of names, not %s", n.Kind)
		return
	}
	c.Workspaces = make(map[string]Workspace)
	for _, p := range n.Pairs {
		if !workspaceName.MatchString(p.Key.Value) || p.Key.Value == "default" {
			d.report(p.Key, say("small letters, digits and dashes; the top level is the workspace \"default\""), "%q cannot be a workspace's name", p.Key.Value)
			continue
		}
		w := DefaultWorkspace()
		w.Rules = filepath.Join("rules", p.Key.Value)
		d.mapping(p.Value, "", w.settings())
		c.Workspaces[p.Key.Value] = w
	}
}

// JournalPath returns where the journal is.
func (c *Config) JournalPath() string {
	if strings.Contains(c.Journal, "://") {
		return c.Journal
	}
	return c.Path(c.Journal)
}
