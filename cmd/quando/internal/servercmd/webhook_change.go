package servercmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/triggers/webhook/subscription"
)

func newWebhookRegister() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "register",
		Short: "Register the webhook, or mend it: active, with the events that the rules need and a secret that is known",
		Long: `Register looks for the webhook whose address is service.webhook.public_url. Where there is none it registers one for the events that the rules
need; else it activates it and gives it these events. Its secret is sealed in the journal, where quando run finds it, and shown to nobody. Where nobody
knows the secret, it is replaced.`,
		Example: "  quando webhook register",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHooks(cmd, true, func(d *hookDesk) error {
				set, problems, err := d.CompileWorkspace(cmd, d.unit.Name)
				if err != nil {
					return err
				}
				if problems.HasErrors() {
					fmt.Fprintln(cmd.ErrOrStderr(), "Some rules are wrong and count for nothing here; quando check says what is wrong.")
				}
				d.subscription.SetRules(set)
				if err := d.subscription.Tend(cmd.Context()); err != nil {
					return err
				}
				st := d.subscription.Status()
				if st.Idle {
					return cli.No(cmd, "the rules need no event that can be subscribed to%s; without one there can be no webhook", unavailable(st.Missing))
				}
				if d.json {
					return cli.WriteJSON(cmd.OutOrStdout(), struct {
						Webhook string                `json:"webhook"`
						URL     string                `json:"url"`
						Active  bool                  `json:"active"`
						Events  []string              `json:"events"`
						Missing []string              `json:"missing"`
						Done    []subscription.Repair `json:"done"`
					}{st.Webhook, d.unit.Service.Webhook.PublicURL, st.Active, append([]string{}, st.Events...), append([]string{}, st.Missing...), append([]subscription.Repair{}, d.repairs...)})
				}
				fmt.Fprintln(cmd.OutOrStdout(), cli.Harmless(d.registered(st)))
				return nil
			})
		},
	}
	cli.JournalFlag(cmd)
	return cmd
}

// registered says what register has done.
func (d *hookDesk) registered(st subscription.Status) string {
	did := func(r subscription.Repair) bool { return slices.Contains(d.repairs, r) }
	var parts []string
	if did(subscription.Registered) {
		parts = append(parts, "Registered")
	} else {
		parts = append(parts, "Registered already")
	}
	said := parts[0] + ": " + d.unit.Service.Webhook.PublicURL + " (" + st.Webhook + "), for " + strings.Join(st.Events, ", ") + "."
	if did(subscription.Reactivated) {
		said += " It had been switched off and is active again."
	}
	if did(subscription.Resubscribed) {
		said += " It was subscribed to other events before."
	}
	if did(subscription.Rotated) {
		said += " Nobody knew its secret, so it was replaced."
	}
	if len(st.Missing) > 0 {
		said += " The rules also need events that cannot be subscribed to: " + strings.Join(st.Missing, ", ") + "."
	}
	return said
}

// unavailable names events that cannot be subscribed to.
func unavailable(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return " (the service does not offer " + strings.Join(missing, ", ") + ")"
}

func newWebhookRotate() *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the webhook's signing secret; with --revoke because it became known",
		Long: `Rotate asks the service for another signing secret and seals it in the journal. An engine that runs takes it up by itself, with the first delivery that
is signed with it. The secret before it counts only for what was signed up to the rotation, and five minutes more, because clocks differ;
service.webhook.retired_secrets lets it count for longer.

With --revoke the secret before it, and every other that the journal has, does not count any more: an engine that runs refuses it within a second or two of the next delivery. That is for a secret that
became known. What was signed with it and is still on its way is refused, and found again by the backfill. Secrets in service.webhook.secrets are not touched:
take one that became known out of the configuration, and restart.`,
		Example: `  quando webhook rotate
  quando webhook rotate --revoke`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHooks(cmd, true, func(d *hookDesk) error {
				if _, err := d.own(cmd); err != nil {
					return err
				}
				until, err := d.subscription.Rotate(cmd.Context(), revoke)
				if err != nil {
					return err
				}
				if revoke && len(d.unit.Service.Webhook.Secrets) > 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "The secrets in service.webhook.secrets are valid besides; take one that became known out of the configuration, and restart.")
				}
				return d.rotated(cmd, until, revoke)
			})
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "the secret before it does not count any more, because it became known")
	cli.JournalFlag(cmd)
	return cmd
}

// rotated says what rotate has done.
func (d *hookDesk) rotated(cmd *cobra.Command, until time.Time, revoked bool) error {
	if d.json {
		return cli.WriteJSON(cmd.OutOrStdout(), struct {
			URL   string    `json:"url"`
			Until time.Time `json:"old_valid_until"`
		}{d.unit.Service.Webhook.PublicURL, until.UTC()})
	}
	before := "is valid until " + d.Stamp(until)
	if revoked {
		before = "is not valid any more"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The secret of %s is replaced. The one before it %s.\n", cli.Harmless(d.unit.Service.Webhook.PublicURL), before)
	return nil
}
