package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service/sandbox"
)

// NewSandbox returns the command sandbox, which imitates the messaging service.
func NewSandbox() *cobra.Command {
	var c sandboxCommand
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Imitate the messaging service, for trying rules without customers",
		Long: `Sandbox serves an imitation of the whole messaging service, in memory, until it is stopped. It prints what quando run needs to work with it, as
lines to paste into a shell: the base address, a key, and the secret of the webhook that leads to the address where quando run listens. With --env it
writes them to a file instead, which run reads where it is called .env and stands beside quando.yaml; a file that is there already says which key and
secret to take. With the control interface one writes as a customer or as the team, moves the clock and asks for faults. docs/reference.md lists what
it keeps of the service's rules.`,
		Example: `  quando sandbox
  quando sandbox --env .env
  curl -d '{"phone":"+5511988887777","name":"Ana","text":"hello"}' http://127.0.0.1:9090/control/customers/message
  curl -d '{"advance":"15m"}' http://127.0.0.1:9090/control/clock
  curl http://127.0.0.1:9090/control/effects`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.listen, "listen", "127.0.0.1:9090", "the `address` to listen on; port 0 takes any free one")
	flags.StringVar(&c.env, "env", "", "write what quando run needs to this `file`, or take the key and the secret from it")
	flags.StringVar(&c.webhook, "webhook", "http://127.0.0.1:8080/webhook", "the `address` that events go to; empty is none, until one is registered")
	flags.BoolVar(&c.json, "json", false, "print one line of JSON instead, with the addresses, the key and the secret")
	flags.StringVar(&c.state, "state", "", "start with this `file`, as the control interface's GET /state gives it")
	flags.BoolVar(&c.options.AllowLoopback, "allow-loopback", false, "let webhooks be plain http addresses on this machine, also others than that of --webhook")
	flags.BoolVar(&c.options.KanbanEvents, "kanban-events", false, "let webhooks subscribe to kanban.* events")
	flags.Uint64Var(&c.options.Seed, "seed", 0, "make the same ids, keys and secrets every time")
	flags.IntVar(&c.options.RateLimit, "rate", 0, "requests that a key may make in a second; 0 is any")
	return cmd
}

type sandboxCommand struct {
	listen, env, webhook, state string
	json                        bool
	options                     sandbox.Options
}

// run serves the sandbox until the command's context ends.
func (c *sandboxCommand) run(cmd *cobra.Command) error {
	known, err := config.ReadEnvironment(c.env)
	there := c.env != "" && err == nil
	if c.env != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", c.env, err)
	}
	if u, err := url.Parse(known["SERVICE_URL"]); err == nil && u.Host != "" && !cmd.Flags().Changed("listen") {
		c.listen = u.Host
	}
	if !console.IsLoopback(c.listen) {
		return fmt.Errorf("--listen %s: the control interface asks for no password, so the sandbox listens on this machine only: use 127.0.0.1:9090", c.listen)
	}
	if c.state != "" {
		f, err := os.Open(c.state)
		if err != nil {
			return cli.FileError(err)
		}
		defer f.Close()
		c.options.State = f
	}
	if u, err := url.Parse(c.webhook); err == nil && u.Host != "" && console.IsLoopback(u.Host) {
		c.options.AllowLoopback = true
	}
	s, err := sandbox.New(c.options)
	if err != nil {
		return fmt.Errorf("%s: %w", c.state, err)
	}
	defer s.Close()
	e := config.SandboxEnvironment{APIKey: known["SERVICE_API_KEY"], WebhookSecret: known["SERVICE_WEBHOOK_SECRET"]}
	if err := c.admit(s, &e); err != nil {
		return err
	}
	address, err := s.Start(cmd.Context(), c.listen)
	if err != nil {
		return err
	}
	e.BaseURL, e.ControlURL = address.BaseURL, address.ControlURL
	if c.env != "" && !there {
		if err := os.WriteFile(c.env, e.Text(), 0o600); err != nil {
			return cli.FileError(err)
		}
	}
	if err := c.print(cmd.OutOrStdout(), e); err != nil {
		return err
	}
	<-cmd.Context().Done()
	return nil
}

// admit lets the key in and adds the webhook, and fills in those of them that were made up.
func (c *sandboxCommand) admit(s *sandbox.Sandbox, e *config.SandboxEnvironment) error {
	doc := object{}
	if e.APIKey != "" {
		doc["keys"] = []object{{"name": "quando", "api_key": e.APIKey, "scopes": sandbox.Scopes}}
	}
	if c.webhook != "" {
		var events []string
		for _, name := range vocabulary.EventTypes() {
			if c.options.KanbanEvents || !strings.HasPrefix(name, "kanban.") {
				events = append(events, name)
			}
		}
		doc["webhooks"] = []object{{"name": "quando", "url": c.webhook, "events": events, "active": true, "secret": e.WebhookSecret}}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	if err := s.AddState(text); err != nil {
		return fmt.Errorf("--webhook %s: %w", c.webhook, err)
	}
	if e.APIKey == "" {
		e.APIKey = s.APIKey()
	}
	var state struct {
		Webhooks []struct{ URL, Secret string }
	}
	if err := json.Unmarshal(s.State(), &state); err != nil {
		return err
	}
	for _, hook := range state.Webhooks {
		if hook.URL == c.webhook {
			e.WebhookSecret = hook.Secret
		}
	}
	return nil
}

// print prints what quando run needs. Everything but the variables is a comment to a shell.
func (c *sandboxCommand) print(w io.Writer, e config.SandboxEnvironment) error {
	if c.json {
		return json.NewEncoder(w).Encode(struct {
			sandbox.Address
			WebhookURL    string `json:"webhook_url,omitempty"`
			WebhookSecret string `json:"webhook_secret,omitempty"`
		}{sandbox.Address{BaseURL: e.BaseURL, APIKey: e.APIKey, ControlURL: e.ControlURL}, c.webhook, e.WebhookSecret})
	}
	lines := []string{"# An imitation of the messaging service, in memory, until it is stopped with Ctrl-C."}
	if c.env != "" {
		lines = append(lines, "# What quando run needs is in "+c.env+".")
	} else {
		lines = append(lines, "# What quando run needs, to paste into its shell:")
		for _, line := range e.Lines() {
			if !strings.HasSuffix(line, "=") {
				lines = append(lines, "export "+line)
			}
		}
	}
	if c.webhook != "" {
		lines = append(lines, "# Events go to "+c.webhook+", where quando run listens.")
	} else {
		lines = append(lines, "# No webhook is registered yet, so that no event goes anywhere.")
	}
	lines = append(lines, "# To write as a customer:", `# curl -d '{"phone":"+5511988887777","name":"Ana","text":"hello"}' `+e.ControlURL+"/customers/message")
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
