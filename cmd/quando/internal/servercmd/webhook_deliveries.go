package servercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// deliveryJSON is one delivery for programs.
type deliveryJSON struct {
	ID             string     `json:"id"`
	Event          string     `json:"event"`
	Type           string     `json:"type"`
	Status         string     `json:"status"`
	Attempt        int        `json:"attempt"`
	ResponseStatus int        `json:"response_status"` // 0: no answer
	Error          string     `json:"error"`
	At             time.Time  `json:"at,omitzero"`
	NextAttemptAt  *time.Time `json:"next_attempt_at"`
}

func newDeliveryJSON(d service.Delivery) deliveryJSON {
	return deliveryJSON{ID: d.ID, Event: d.EventID, Type: d.EventType, Status: d.Status, Attempt: d.Attempt, ResponseStatus: d.ResponseStatus, Error: d.Error, At: d.At.UTC(), NextAttemptAt: d.NextAttemptAt}
}

func newWebhookDeliveries() *cobra.Command {
	var failed bool
	cmd := &cobra.Command{
		Use:   "deliveries",
		Short: "List the latest deliveries of our webhook as the service tells them, the newest first",
		Example: `  quando webhook deliveries
  quando webhook deliveries --failed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHooks(cmd, false, func(d *hookDesk) error {
				own, err := d.own(cmd)
				if err != nil {
					return err
				}
				all, err := d.unit.Client.Patient().ListDeliveries(cmd.Context(), own.ID)
				if err != nil {
					return err
				}
				slices.SortStableFunc(all, func(a, b service.Delivery) int { return b.At.Compare(a.At) })
				if failed {
					all = slices.DeleteFunc(all, arrived)
				}
				if d.json {
					list := struct {
						Deliveries []deliveryJSON `json:"deliveries"`
					}{[]deliveryJSON{}}
					for _, one := range all {
						list.Deliveries = append(list.Deliveries, newDeliveryJSON(one))
					}
					return cli.WriteJSON(cmd.OutOrStdout(), list)
				}
				d.writeDeliveries(cmd, all)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "only those that have not been delivered")
	return cmd
}

// arrived reports whether a delivery was accepted.
func arrived(d service.Delivery) bool { return d.ResponseStatus >= 200 && d.ResponseStatus <= 299 }

func (d *hookDesk) writeDeliveries(cmd *cobra.Command, all []service.Delivery) {
	if len(all) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "No such deliveries.")
		return
	}
	c := cli.Colours(cmd.OutOrStdout())
	t := &cli.Table{Head: []string{"AT (" + d.ZoneName() + ")", "AGE", "TYPE", "ATTEMPT", "ANSWER", "STATUS"}}
	for _, one := range all {
		paint := c.Red
		if arrived(one) {
			paint = nil
		}
		next := ""
		if one.NextAttemptAt != nil {
			next = "again at " + d.Stamp(*one.NextAttemptAt)
		}
		t.Add([]cli.Cell{
			{Text: d.Stamp(one.At)}, {Text: cli.Span(d.Now.Sub(one.At)), Paint: c.Dim}, {Text: one.EventType, Paint: c.Bold},
			{Text: strconv.Itoa(one.Attempt)}, {Text: answered(one), Paint: paint}, {Text: one.Status, Paint: paint},
		}, "event "+one.EventID, one.Error, next)
	}
	t.Write(cmd.OutOrStdout(), c)
}

// answered says what a delivery was answered with.
func answered(d service.Delivery) string {
	if d.ResponseStatus == 0 {
		return "none"
	}
	return strconv.Itoa(d.ResponseStatus)
}

func newWebhookTest() *cobra.Command {
	var wait cli.WaitFlag
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Have the service deliver a test event, and say what became of it",
		Long: `Test asks the service to send a test event to our webhook and waits until it has tried. It exits with 1 when the event did not arrive, and says what
that means.`,
		Example: "  quando webhook test",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHooks(cmd, false, func(d *hookDesk) error {
				own, err := d.own(cmd)
				if err != nil {
					return err
				}
				if !own.Active {
					return cli.No(cmd, "the webhook %s is inactive, so the service delivers nothing; quando webhook register activates it again", own.URL)
				}
				one, err := d.deliverTest(cmd.Context(), own.ID, wait.Duration)
				if err != nil {
					return err
				}
				return d.tellTest(cmd, own, one)
			})
		},
	}
	wait.Add(cmd)
	wait.Duration = 10 * time.Second
	cmd.Flags().Lookup("wait").Usage = "how long to wait for the delivery; 0s does not wait"
	cmd.Flags().Lookup("wait").DefValue = wait.String()
	return cmd
}

// deliverTest requests a test event and returns its delivery after an attempt; nil on timeout.
func (d *hookDesk) deliverTest(ctx context.Context, webhook string, wait time.Duration) (*service.Delivery, error) {
	client := d.unit.Client.Patient()
	before, err := client.ListDeliveries(ctx, webhook)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, one := range before {
		known[one.ID] = true
	}
	if err := d.subscription.Test(ctx, webhook); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var some *service.Delivery
	for {
		after, err := client.ListDeliveries(ctx, webhook)
		if errors.Is(err, context.DeadlineExceeded) {
			return some, nil
		}
		if err != nil {
			return nil, err
		}
		// Other events may be delivered at the same time. A service that calls the test by the name
		// of one of them can only be taken at its word.
		for i, one := range after {
			switch {
			case known[one.ID] || one.ResponseStatus == 0 && one.Error == "":
			case !slices.Contains(vocabulary.EventTypes(), one.EventType):
				return &after[i], nil
			case some == nil:
				some = &after[i]
			}
		}
		select {
		case <-ctx.Done():
			return some, nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tellTest prints the result of a test event.
func (d *hookDesk) tellTest(cmd *cobra.Command, own *service.Webhook, one *service.Delivery) error {
	ok := one != nil && arrived(*one)
	if d.json {
		out := struct {
			OK       bool          `json:"ok"`
			Delivery *deliveryJSON `json:"delivery"`
		}{OK: ok}
		if one != nil {
			j := newDeliveryJSON(*one)
			out.Delivery = &j
		}
		if err := cli.WriteJSON(cmd.OutOrStdout(), out); err != nil {
			return err
		}
	}
	switch {
	case ok && !d.json:
		fmt.Fprintf(cmd.OutOrStdout(), "Delivered: %s answered %d.\n", cli.Harmless(own.URL), one.ResponseStatus)
		return nil
	case ok:
		return nil
	case one == nil:
		return cli.No(cmd, "the service has not told yet what became of the test event; quando webhook deliveries shows it later")
	}
	return cli.No(cmd, "the test event did not arrive: %s", testTrouble(own.URL, *one))
}

// testTrouble says what an answer to a test event means.
func testTrouble(address string, d service.Delivery) string {
	switch {
	case d.ResponseStatus == http.StatusUnauthorized:
		return "it was answered with 401, because its signature was refused: is the engine running with this configuration and journal, and is its clock right? quando webhook rotate replaces the secret"
	case d.ResponseStatus == http.StatusBadGateway || d.ResponseStatus == http.StatusGatewayTimeout:
		return fmt.Sprintf("it was answered with %d by what stands in front of the engine: is the engine running, and reached from there?", d.ResponseStatus)
	case d.ResponseStatus == http.StatusServiceUnavailable:
		return "it was answered with 503: the engine is stopping or cannot record"
	case d.ResponseStatus == http.StatusNotFound:
		return "it was answered with 404: does the path of " + address + " lead to /webhook of the engine?"
	case d.ResponseStatus >= 300 && d.ResponseStatus <= 399:
		return fmt.Sprintf("it was answered with %d, and the service follows no redirects: set service.webhook.public_url to the final address", d.ResponseStatus)
	case d.ResponseStatus != 0:
		return fmt.Sprintf("it was answered with %d; %s is not answered by quando, or not by quando alone", d.ResponseStatus, address)
	}
	return fmt.Sprintf("nobody answered at %s: %s; is the engine running, and is the address reachable from the internet?", address, cmp.Or(d.Error, "no reason is given"))
}
