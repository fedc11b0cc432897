package runscmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
)

// NewMute returns the command mute, which keeps rules from sending to a conversation.
func NewMute() *cobra.Command {
	var f muteFlags
	var length string
	cmd := &cobra.Command{
		Use:   "mute [CONVERSATION]",
		Short: "Send nothing automatic to a conversation; without one, list those that are muted",
		Long: `Mute keeps every rule from sending to a conversation, by the customer's name, phone or the conversation's id: until quando unmute, or with --for
for that time. It works at once. Steps that would send are skipped, and say why; everything else that rules do goes on. A step with
even_if_muted: true sends all the same. Without a conversation, mute lists those that are muted.`,
		Example: `  quando mute "Marina Souza" --for 24h
  quando mute +5511988887777
  quando mute`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lasts := time.Duration(0)
			if length != "" {
				var err error
				if lasts, err = duration.Parse(length); err != nil || lasts <= 0 {
					return fmt.Errorf("--for: %q is not a time; write it like 90m, 24h or 7d", length)
				}
			}
			return f.run(cmd, args, func(ctx context.Context, v *view.View, who journal.Who) (string, error) {
				m := journal.Mute{Workspace: who.Workspace, Lane: who.Lane, Since: v.Now}
				words := "until quando unmute"
				if lasts > 0 {
					m.Until = v.Now.Add(lasts)
					words = "until " + v.Ahead(m.Until)
				}
				return "Muted " + words + ": " + nameOf(who) + ".", v.Mute(ctx, journal.MuteChange{Mute: m})
			})
		},
	}
	cmd.Flags().StringVar(&length, "for", "", "for this `time`, such as 24h; until quando unmute unless given")
	f.add(cmd)
	return cmd
}

// NewUnmute returns the command unmute, which lets rules send to a conversation again.
func NewUnmute() *cobra.Command {
	var f muteFlags
	cmd := &cobra.Command{
		Use:     "unmute CONVERSATION",
		Short:   "Let rules send to a conversation again",
		Long:    `Unmute ends what quando mute, the console or the verb mute began. The conversation is named by the customer's name, phone or the conversation's id.`,
		Example: `  quando unmute "Marina Souza"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args, func(ctx context.Context, v *view.View, who journal.Who) (string, error) {
				before, err := v.Muted(ctx, who.Workspace, who.Lane, v.Now)
				if err != nil {
					return "", err
				}
				if before == nil {
					return "Nothing to unmute: " + nameOf(who) + " was not muted.", nil
				}
				return "Unmuted: " + nameOf(who) + ".", v.Mute(ctx, journal.MuteChange{Mute: *before, Off: true})
			})
		},
	}
	f.add(cmd)
	return cmd
}

type muteFlags struct{ workspace, output string }

func (f *muteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "a conversation of this workspace, by its `name`")
	cli.OutputFlag(cmd, &f.output)
	cli.JournalFlag(cmd)
}

// run finds the conversation, does something to it, and says what is muted then.
func (f *muteFlags) run(cmd *cobra.Command, args []string, do func(context.Context, *view.View, journal.Who) (string, error)) error {
	if err := cli.CheckOutput(f.output); err != nil {
		return err
	}
	return view.Open(cmd, f.workspace, func(v *view.View) error {
		said := ""
		if len(args) > 0 {
			who, err := findConversation(cmd, v, f.workspace, args[0])
			if err != nil {
				return err
			}
			if said, err = do(cmd.Context(), v, who); err != nil {
				return fmt.Errorf("%s: %w", cmd.Name(), err)
			}
		}
		return f.report(cmd, v, said)
	})
}

// mutesJSON is everything that is muted.
type mutesJSON struct {
	Mutes []journal.Mute `json:"mutes"`
}

// report says what was done, and what is muted now.
func (f *muteFlags) report(cmd *cobra.Command, v *view.View, said string) error {
	mutes, err := v.Mutes(cmd.Context(), v.Now)
	if err != nil {
		return fmt.Errorf("read what is muted: %w", err)
	}
	w := cmd.OutOrStdout()
	if f.output == "json" {
		return cli.WriteJSON(w, mutesJSON{append([]journal.Mute{}, mutes...)})
	}
	if said != "" {
		fmt.Fprintln(w, cli.Harmless(said))
	}
	if len(mutes) == 0 {
		fmt.Fprintln(w, "Nothing is muted.")
		return nil
	}
	names, err := customersOf(cmd.Context(), v, mutes, func(m journal.Mute) (string, string) { return m.Workspace, m.Lane })
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "Muted at present:")
	for _, m := range mutes {
		writeMute(v, w, m, names.name(m.Workspace, m.Lane))
	}
	return nil
}

func writeMute(v *view.View, w io.Writer, m journal.Mute, who string) {
	line := who
	if m.Workspace != config.DefaultWorkspaceName {
		line += " of the workspace " + m.Workspace
	}
	if line += ", by a person"; m.Rule != "" {
		line = strings.TrimSuffix(line, "a person") + fmt.Sprintf("the rule %s (run %d)", m.Rule, m.Run)
	}
	line += ", since " + v.Ago(m.Since)
	if !m.Until.IsZero() {
		line += ", until " + v.Ahead(m.Until)
	}
	fmt.Fprintf(w, "  %s\n    ends with: quando unmute %s\n", cli.Harmless(line), cli.Harmless(strings.TrimPrefix(m.Lane, conversationLane(""))))
}
