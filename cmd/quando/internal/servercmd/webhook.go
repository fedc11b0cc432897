package servercmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook/subscription"
)

// NewWebhook returns the command webhook with the commands below it.
func NewWebhook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Look after the webhook through which the service tells of events",
		Long: `Webhook shows and mends the subscription by hand. Quando run does the same by itself once a minute, wherever service.webhook.public_url is set:
it registers the webhook, subscribes it to what the rules need, activates it again and replaces a secret that nobody knows. docs/webhooks.md tells how.

The API key needs the scope webhooks:manage. Webhooks of other addresses are never touched.`,
		Example: `  quando webhook register
  quando webhook test`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().String("workspace", "", "the workspace, by its `name`, where several are configured")
	cmd.PersistentFlags().String("output", "text", "text or json")
	cmd.AddCommand(newWebhookRegister(), newWebhookList(), newWebhookTest(), newWebhookRotate(), newWebhookDeliveries())
	return cmd
}

// A hookDesk is what the commands work with.
type hookDesk struct {
	*view.View
	unit         *process.Unit
	subscription *subscription.Subscription
	repairs      []subscription.Repair
	json         bool
}

// withHooks puts together what a command about the webhook of a workspace needs. Those that change
// its secret need the journal, where the engine finds it.
func withHooks(cmd *cobra.Command, journal bool, f func(d *hookDesk) error) error {
	output, _ := cmd.Flags().GetString("output")
	if err := cli.CheckOutput(output); err != nil {
		return err
	}
	file, _ := cmd.Flags().GetString("config")
	c, err := config.Load(file, false)
	if err != nil {
		return err
	}
	if where, err := cmd.Flags().GetString("journal"); err == nil && where != "" {
		c.Journal = where
	}
	name, _ := cmd.Flags().GetString("workspace")
	w, err := chosen(c, name)
	if err != nil {
		return err
	}
	if w.Service.Webhook.PublicURL == "" {
		return fmt.Errorf("the workspace %s has no service.webhook.public_url; set it to the https address under which the service reaches this engine, such as https://hooks.example.com/webhook", w.Name)
	}
	own := func(context.Context, string, service.Message) (bool, error) { return false, nil }
	u, err := process.NewUnit(c, w, nil, own, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	d := &hookDesk{View: &view.View{Config: c, Configured: true, Zone: w.Timezone, Now: cli.Now()}, unit: u, json: output == "json"}
	var cursors subscription.Cursors = noCursors{}
	if journal {
		if d.Journal, err = openOrMakeJournal(cmd.Context(), c.JournalPath()); err != nil {
			return err
		}
		defer func() { _ = d.Close() }() // what was written is on disk already
		cursors = d.Journal
	}
	o, err := process.SubscriptionOptions(c, u, cursors)
	if err != nil {
		return err
	}
	o.Beside, o.Now = true, cli.Now
	o.Repaired = func(r subscription.Repair) { d.repairs = append(d.repairs, r) }
	if d.subscription, err = subscription.New(o); err != nil {
		return err
	}
	return f(d)
}

// chosen returns the workspace of a name; without one the default workspace, or the only one.
func chosen(c *config.Config, name string) (config.NamedWorkspace, error) {
	list, err := c.Active()
	if err != nil {
		return config.NamedWorkspace{}, err
	}
	var names []string
	for _, w := range list {
		if w.Name == name || name == "" && (w.Name == config.DefaultWorkspaceName || len(list) == 1) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	if name == "" {
		return config.NamedWorkspace{}, fmt.Errorf("several workspaces are configured; name one of them with --workspace: %s", strings.Join(names, ", "))
	}
	return config.NamedWorkspace{}, fmt.Errorf("the configuration has no workspace %q (%s)", name, source.OneOf(name, names).String())
}

// openOrMakeJournal opens the journal beside an engine, or creates the file: a webhook may be
// registered before the first run.
func openOrMakeJournal(ctx context.Context, where string) (storage.Journal, error) {
	if !storage.IsDatabase(where) {
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return storage.Open(ctx, where, false)
		}
	}
	return storage.Open(ctx, where, true)
}

// noCursors store nothing, for commands that only read.
type noCursors struct{}

func (noCursors) Cursor(context.Context, string) (string, error) { return "", nil }

func (noCursors) SwapCursor(context.Context, string, string, string) (bool, error) {
	return false, errors.New("without a journal nothing can be changed")
}

// own returns the webhook of our address, or says that there is none.
func (d *hookDesk) own(cmd *cobra.Command) (*service.Webhook, error) {
	own, _, err := d.subscription.Find(cmd.Context())
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, cli.No(cmd, "there is no webhook with the address %s; quando webhook register makes it", d.unit.Service.Webhook.PublicURL)
	}
	return own, nil
}

// The JSON of webhooks. Every member is always there: programs read it. There is no secret among
// them.
type webhookJSON struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	URL       string    `json:"url"`
	Events    []string  `json:"events"`
	Active    bool      `json:"active"`
	Own       bool      `json:"own"` // it is this workspace's
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

func newWebhookJSON(h service.Webhook, own bool) webhookJSON {
	return webhookJSON{ID: h.ID, Name: h.Name, URL: h.URL, Events: append([]string{}, h.Events...), Active: h.Active, Own: own, CreatedAt: h.CreatedAt.UTC(), UpdatedAt: h.UpdatedAt.UTC()}
}

func newWebhookList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the webhooks of the company, and which of them is ours",
		Example: `  quando webhook list
  quando webhook list --output json | jq '.webhooks[].url'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHooks(cmd, false, func(d *hookDesk) error {
				own, all, err := d.subscription.Find(cmd.Context())
				if err != nil {
					return err
				}
				isOwn := func(h service.Webhook) bool { return own != nil && h.ID == own.ID }
				if d.json {
					list := struct {
						Webhooks []webhookJSON `json:"webhooks"`
					}{[]webhookJSON{}}
					for _, h := range all {
						list.Webhooks = append(list.Webhooks, newWebhookJSON(h, isOwn(h)))
					}
					return cli.WriteJSON(cmd.OutOrStdout(), list)
				}
				c := cli.Colours(cmd.OutOrStdout())
				t := &cli.Table{Head: []string{"WEBHOOK", "NAME", "STATE", "ADDRESS"}}
				for _, h := range all {
					state := cli.Cell{Text: "active"}
					if !h.Active {
						state = cli.Cell{Text: "inactive", Paint: c.Red}
					}
					ours := ""
					if isOwn(h) {
						ours = "ours; "
					}
					t.Add([]cli.Cell{{Text: h.ID}, {Text: h.Name}, state, {Text: h.URL, Paint: c.Bold}}, ours+strings.Join(h.Events, ", "))
				}
				if len(all) > 0 {
					t.Write(cmd.OutOrStdout(), c)
				}
				if own == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "None has the address %s; quando webhook register makes it.\n", d.unit.Service.Webhook.PublicURL)
				}
				return nil
			})
		},
	}
}
