package servercmd

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// NewHealth returns the command health, which asks a running engine whether it is alive.
func NewHealth() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the quando that runs on this machine whether it is alive, or able to record",
		Long: `Health asks the address that the configuration tells to listen on, from this machine. It exits with 0 when the answer is yes, and with 1 when it
is no or there is none. Containers have nothing else to ask with.`,
		Example: "  quando health\n  quando health --ready --config /etc/quando/quando.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := config.LoadPart(cmd, "listen", "tls.cert", "tls.acme.hosts")
			if err != nil {
				return err
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			answer, ok := askHealth(ctx, c, path)
			fmt.Fprintln(cmd.OutOrStdout(), answer)
			if !ok {
				return cli.ErrNo
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it is able to record")
	return cmd
}

// askHealth asks the process that listens on the configured address.
func askHealth(ctx context.Context, c *config.Config, path string) (answer string, ok bool) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err.Error(), false
	}
	switch host { // an unspecified address includes loopback; a container may not know the name localhost
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	scheme := "http"
	// The certificate does not matter: no data is sent, and the question is whether a process answers.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if c.TLS.Cert != "" || len(c.TLS.ACME.Hosts) > 0 {
		scheme = "https"
		if len(c.TLS.ACME.Hosts) > 0 {
			client.Transport.(*http.Transport).TLSClientConfig.ServerName = c.TLS.ACME.Hosts[0]
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return err.Error(), false
	}
	res, err := client.Do(r)
	if err != nil {
		return fmt.Sprintf("no quando answers at %s: is it running, and is listen what it was started with? %v", net.JoinHostPort(host, port), err), false
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)) // the status says it
	return cli.Harmless(strings.TrimSpace(string(text))), res.StatusCode == http.StatusOK
}
