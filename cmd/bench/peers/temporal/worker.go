// Command temporal is the part of a Temporal deployment that its user writes: it starts a workflow
// for every delivery, and works on them.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const queue = "desk"

// An event is the relevant part of a delivery.
type event struct {
	ID   string `json:"id"`
	Data struct {
		Message      struct{ Text string }
		Conversation struct{ ID string }
	} `json:"data"`
}

// A desk calls the service.
type desk struct {
	service string
	http    *http.Client
}

// Received is the workflow: one condition, one call.
func Received(ctx workflow.Context, e event) error {
	if !strings.Contains(e.Data.Message.Text, "order") {
		return nil
	}
	// The timeout is also how long a call that a dead worker had begun is waited for.
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var d *desk
	return workflow.ExecuteActivity(ctx, d.Send, e.Data.Conversation.ID, e.ID, "a "+e.ID).Get(ctx, nil)
}

// Send is the activity. A repeat of it has the same client id.
func (d *desk) Send(ctx context.Context, conversation, client, text string) error {
	body, err := json.Marshal(map[string]string{"client_id": client, "text": text})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.service+"/conversations/"+conversation+"/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer bench-key")
	answer, err := d.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("answered %s", answer.Status)
	}
	return nil
}

// A receiver accepts deliveries. It acknowledges one when the server has recorded the workflow's
// start, and a repeat starts nothing.
type receiver struct {
	temporal client.Client
	secret   []byte
	eager    bool // a workflow goes to the worker of this process, without a search by the server
}

// signed reports whether the service has signed a delivery, within the last five minutes.
func (d receiver) signed(h http.Header, body []byte) bool {
	timestamp := h.Get("X-Service-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	given, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Service-Signature"), "sha256="))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, d.secret)
	mac.Write([]byte(timestamp))
	mac.Write([]byte("."))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

func (d receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "not read", http.StatusBadRequest)
		return
	}
	if !d.signed(r.Header, body) {
		http.Error(w, "signature refused", http.StatusUnauthorized)
		return
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" {
		http.Error(w, "an event is JSON with an id", http.StatusBadRequest)
		return
	}
	options := client.StartWorkflowOptions{
		ID:                    e.ID,
		TaskQueue:             queue,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		EnableEagerStart:      d.eager,
	}
	_, err = d.temporal.ExecuteWorkflow(r.Context(), options, Received, e)
	if err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func main() {
	go endWithParent()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	options := client.Options{
		HostPort: os.Getenv("TEMPORAL"),
		Logger:   log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
	}
	c, err := untilItWorks(func() (client.Client, error) { return client.Dial(options) })
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	w.RegisterWorkflow(Received)
	w.RegisterActivity(&desk{os.Getenv("SERVICE"), &http.Client{Transport: transport, Timeout: 5 * time.Second}})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	l, err := untilItWorks(func() (net.Listener, error) { return net.Listen("tcp", os.Getenv("LISTEN")) })
	if err != nil {
		return err
	}
	return http.Serve(l, receiver{c, []byte(os.Getenv("SECRET")), os.Getenv("EAGER") == "true"})
}

// untilItWorks waits for the server to come up, and for the port of a worker whose server was
// killed a moment ago.
func untilItWorks[T any](try func() (T, error)) (thing T, err error) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if thing, err = try(); err == nil {
			return thing, nil
		}
	}
	return thing, err
}

// endWithParent ends this process when its parent has exited.
func endWithParent() {
	parent, _ := strconv.Atoi(os.Getenv("PARENT"))
	for os.Getppid() == parent {
		time.Sleep(100 * time.Millisecond)
	}
	os.Exit(1)
}
