package demo

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/service/sandbox"
)

// NewSandbox returns the command sandbox, which imitates the messaging service.
func NewSandbox() *cobra.Command {
	var listen, state string
	var options sandbox.Options
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Imitate the messaging service, for trying rules without customers",
		Long: `Sandbox serves an imitation of the whole messaging service, in memory, until it is stopped. When it listens it prints one line of
JSON: the base address and a key for quando.yaml, and the address of the control interface, with which one writes as a customer
or as the team, moves the clock and asks for faults. docs/reference.md lists what it keeps of the service's rules.`,
		Example: `  quando sandbox
  curl -d '{"phone":"+5511988887777","name":"Ana","text":"hello"}' http://127.0.0.1:9090/control/customers/message
  curl -d '{"advance":"15m"}' http://127.0.0.1:9090/control/clock
  curl http://127.0.0.1:9090/control/effects`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !console.IsLoopback(listen) {
				return fmt.Errorf("--listen %s: the control interface asks for no password, so the sandbox listens on this machine only: use 127.0.0.1:9090", listen)
			}
			if state != "" {
				f, err := os.Open(state)
				if err != nil {
					return cli.FileError(err)
				}
				defer f.Close()
				options.State = f
			}
			s, err := sandbox.New(options)
			if err != nil {
				return fmt.Errorf("%s: %w", state, err)
			}
			defer s.Close()
			address, err := s.Start(cmd.Context(), listen)
			if err != nil {
				return err
			}
			if err := json.NewEncoder(cmd.OutOrStdout()).Encode(address); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:9090", "the `address` to listen on; port 0 takes any free one")
	flags.StringVar(&state, "state", "", "start with this `file`, as the control interface's GET /state gives it")
	flags.BoolVar(&options.AllowLoopback, "allow-loopback", false, "let webhooks be plain http addresses on this machine")
	flags.BoolVar(&options.KanbanEvents, "kanban-events", false, "let webhooks subscribe to kanban.* events")
	flags.Uint64Var(&options.Seed, "seed", 0, "make the same ids, keys and secrets every time")
	flags.IntVar(&options.RateLimit, "rate", 0, "requests that a key may make in a second; 0 is any")
	return cmd
}
