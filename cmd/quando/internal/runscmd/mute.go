package runscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
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
			who, err := f.find(cmd, v, args[0])
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

// mostFound bounds the conversations among which a person has to choose.
const mostFound = 10

// find returns the one conversation that a name, a phone or an id names.
func (f *muteFlags) find(cmd *cobra.Command, v *view.View, text string) (journal.Who, error) {
	if strings.TrimSpace(text) == "" {
		return journal.Who{}, errors.New("say which conversation: by the customer's name, phone or the conversation's id")
	}
	lane := conversationLane(text)
	events, err := v.ListEvents(cmd.Context(), journal.EventFilter{Workspace: f.workspace, Lane: lane, Limit: 1})
	if err != nil {
		return journal.Who{}, fmt.Errorf("look for the conversation: %w", err)
	}
	if len(events) > 0 {
		workspace := events[0].Workspace
		known, err := v.Who(cmd.Context(), workspace, []string{lane})
		who := known[lane]
		who.Workspace, who.Lane = workspace, lane
		return who, err
	}
	if id := strings.TrimPrefix(lane, conversationLane("")); uuid.Validate(id) == nil {
		workspace := f.workspace
		if workspace == "" {
			workspace = config.DefaultWorkspaceName
		}
		return journal.Who{Workspace: workspace, Lane: lane}, nil // nothing has happened in it yet
	}
	found, err := v.FindLanes(cmd.Context(), text, mostFound)
	if err != nil {
		return journal.Who{}, fmt.Errorf("look for the conversation: %w", err)
	}
	var fits []journal.Who
	for _, who := range found {
		if (f.workspace == "" || who.Workspace == f.workspace) && strings.HasPrefix(who.Lane, conversationLane("")) {
			fits = append(fits, who)
		}
	}
	switch len(fits) {
	case 0:
		return journal.Who{}, cli.No(cmd, "no conversation that the journal knows has the name, phone or id %q; its id is in the service", text)
	case 1:
		return fits[0], nil
	}
	list := ""
	for _, who := range fits {
		list += fmt.Sprintf("\n  %s %s", strings.TrimPrefix(who.Lane, conversationLane("")), nameOf(who))
	}
	return journal.Who{}, cli.No(cmd, "several conversations fit %q: say which by its id%s", text, list)
}

// nameOf names a conversation.
func nameOf(who journal.Who) string {
	words := who.Name
	if words == "" {
		words = who.Phone
	} else if who.Phone != "" {
		words += " (" + who.Phone + ")"
	}
	if words == "" {
		return who.Lane
	}
	return words
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
	fmt.Fprintln(w, "Muted at present:")
	for _, m := range mutes {
		writeMute(v, w, m)
	}
	return nil
}

func writeMute(v *view.View, w io.Writer, m journal.Mute) {
	line := m.Lane
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
