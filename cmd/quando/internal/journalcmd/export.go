package journalcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules/redact"
)

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write events, runs, their steps and the audit as lines of JSON",
		Long: `Export writes what the journal holds to standard output, one JSON object in a line: first events, then runs, each with its steps behind it, then the audit. The member kind says what
a line is. It is for those who want to look into the past with tools of their own, and for somebody who asks what is recorded of them: --contact writes only what is about one person.`,
		Example: "  quando journal export --since 7d > week.jsonl\n  quando journal export --contact 2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d | jq .",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return view.Open(cmd, "", func(v *view.View) error { return f.export(cmd, v) })
		},
	}
	cmd.Flags().StringVar(&f.since, "since", "", "only what came or began since then, such as 14d or 2026-11-13")
	cmd.Flags().StringVar(&f.until, "until", "", "only what came or began before then")
	cmd.Flags().StringVar(&f.contact, "contact", "", "only what is about the contact with this `id`; the audit is left out")
	cmd.Flags().StringVar(&f.phone, "phone", "", "only what is about the person with this `number`; the audit is left out")
	return cmd
}

type exportFlags struct{ since, until, contact, phone string }

// An exporter writes what it is to write.
type exporter struct {
	out          io.Writer
	since, until time.Time
	trail        *forget.Trail // nil is everyone
}

func (f *exportFlags) export(cmd *cobra.Command, v *view.View) (err error) {
	x := &exporter{out: cmd.OutOrStdout()}
	if x.since, err = v.ParseSince(f.since); err != nil {
		return err
	}
	if x.until, err = v.ParseSince(f.until); err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	if f.contact != "" || f.phone != "" {
		where, c, err := journalOf(cmd, profileKey)
		if err != nil {
			return err
		}
		words, err := words(c)
		if err != nil {
			return err
		}
		err = keeping(cmd, where, true, func(k stored.Keeper) error {
			x.trail, err = forget.Find(cmd.Context(), k, forget.Person{Contact: f.contact, Phone: f.phone, Words: words})
			return err
		})
		if err != nil {
			return err
		}
		if x.trail.Empty() {
			return cli.No(cmd, "the journal has nothing that is about this person")
		}
	}
	for _, part := range []func(context.Context, *view.View) error{x.events, x.runs, x.audit} {
		if err := part(cmd.Context(), v); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}

// encode writes a line. Characters that steer a terminal are escaped.
func (x *exporter) encode(v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := x.out.Write(cli.EscapeJSON(line.Bytes()))
	return err
}

// within reports whether a time is in the requested span.
func (x *exporter) within(t time.Time) bool {
	return !t.Before(x.since) && (x.until.IsZero() || t.Before(x.until))
}

// exportPage is the number of rows per read.
const exportPage = 500

type (
	exportedEvent struct {
		Kind       string            `json:"kind"`
		Seq        int64             `json:"seq"`
		Workspace  string            `json:"workspace"`
		ID         string            `json:"id"`
		Type       string            `json:"type"`
		Rule       string            `json:"rule,omitempty"`
		Tenant     string            `json:"tenant,omitempty"`
		Lane       string            `json:"lane"`
		CreatedAt  time.Time         `json:"created_at"`
		ReceivedAt time.Time         `json:"received_at"`
		Decided    bool              `json:"decided"`
		Data       map[string]any    `json:"data"`
		Verdicts   []journal.Verdict `json:"verdicts"`
		Answers    journal.Answers   `json:"answers,omitempty"`
	}
	exportedRun struct {
		Kind       string          `json:"kind"`
		ID         int64           `json:"id"`
		Key        string          `json:"key"`
		Workspace  string          `json:"workspace"`
		Rule       string          `json:"rule"`
		Version    string          `json:"version"`
		Event      int64           `json:"event"` // its seq
		Gathered   []int64         `json:"gathered,omitempty"`
		Lane       string          `json:"lane"`
		State      string          `json:"state"`
		Stage      string          `json:"stage"`
		Reason     string          `json:"reason,omitempty"`
		Why        json.RawMessage `json:"why,omitempty"` // the reason as a phrase
		Ancestry   []string        `json:"ancestry,omitempty"`
		About      actions.Subject `json:"about"`
		StartedAt  time.Time       `json:"started_at"`
		WakeAt     time.Time       `json:"wake_at,omitzero"`
		FinishedAt time.Time       `json:"finished_at,omitzero"`
	}
	exportedStep struct {
		Kind     string          `json:"kind"`
		Run      int64           `json:"run"`
		N        int             `json:"n"`
		Path     string          `json:"path"`
		Verb     string          `json:"verb"`
		Key      string          `json:"key"`
		State    string          `json:"state"`
		Attempts int             `json:"attempts"`
		Error    string          `json:"error,omitempty"`
		Record   json.RawMessage `json:"record,omitempty"`
	}
	exportedAudit struct {
		Kind    string    `json:"kind"`
		ID      int64     `json:"id"`
		At      time.Time `json:"at"`
		Who     string    `json:"who"`
		From    string    `json:"from,omitempty"`
		What    string    `json:"what"`
		Subject string    `json:"subject,omitempty"`
		Detail  string    `json:"detail,omitempty"`
	}
)

func (x *exporter) events(ctx context.Context, v *view.View) error {
	filter := journal.EventFilter{Since: x.since, Forward: true, Limit: exportPage}
	for {
		list, err := v.ListEvents(ctx, filter)
		if err != nil {
			return err
		}
		for _, e := range list {
			filter.After = e.Seq
			if !x.within(e.ReceivedAt) || x.trail != nil && !x.trail.Event(e.Seq) {
				continue
			}
			err := x.encode(exportedEvent{"event", e.Seq, e.Workspace, e.ID, e.Type, e.Rule, e.Tenant, e.Lane, e.CreatedAt, e.ReceivedAt, e.Decided, view.HideData(e.Data), append([]journal.Verdict{}, e.Verdicts...), e.Answers})
			if err != nil {
				return err
			}
		}
		if len(list) < exportPage {
			return nil
		}
	}
}

// runs writes runs with their steps, the newest first, as the journal lists them.
func (x *exporter) runs(ctx context.Context, v *view.View) error {
	filter := journal.RunFilter{Since: x.since, Limit: exportPage}
	for {
		list, err := v.ListRuns(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range list {
			filter.Before = r.ID
			if !x.within(r.StartedAt) || x.trail != nil && !x.trail.Run(r.ID) {
				continue
			}
			if err := x.run(r); err != nil {
				return err
			}
		}
		if len(list) < exportPage {
			return nil
		}
	}
}

func (x *exporter) run(r *journal.Run) error {
	var why json.RawMessage
	var err error
	if r.Why != nil {
		if why, err = json.Marshal(r.Why); err != nil {
			return err
		}
		why = view.HideJSON(why)
	}
	err = x.encode(exportedRun{
		"run", r.ID, r.Key, r.Workspace, r.Rule, r.Version, r.Event, r.Gathered, r.Home, string(r.State), string(r.Stage), redact.Text(r.Reason), why, r.Ancestry, r.About, r.StartedAt, r.WakeAt, r.FinishedAt,
	})
	for _, s := range r.Steps {
		if err != nil {
			return err
		}
		err = x.encode(exportedStep{"step", r.ID, s.N, s.Path, s.Verb, s.Key, string(s.State), s.Attempts, redact.Text(s.Error), view.HideJSON(s.Record)})
	}
	return err
}

// audit writes the audit log, newest first. It is about users, and not about a customer.
func (x *exporter) audit(ctx context.Context, v *view.View) error {
	for before := int64(0); x.trail == nil; {
		list, err := v.Audits(ctx, before, exportPage)
		if err != nil {
			return err
		}
		for _, a := range list {
			before = a.ID
			if !x.within(a.At) {
				continue
			}
			if err := x.encode(exportedAudit{"audit", a.ID, a.At, a.Who, a.From, a.What, a.Subject, a.Detail}); err != nil {
				return err
			}
		}
		if len(list) < exportPage || slices.IndexFunc(list, func(a journal.AuditEntry) bool { return !a.At.Before(x.since) }) < 0 {
			return nil
		}
	}
	return nil
}
