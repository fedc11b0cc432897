package main

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service"
)

// offlineDesk returns a desk that reads what recorded events carry and asks nobody.
func (v *view) offlineDesk(workspaceName string) (*builtin.Desk, error) {
	w := v.config.named(workspaceName)
	if w == nil {
		w = &v.config.workspace
	}
	profile, err := v.config.profile(w)
	if err != nil {
		return nil, err
	}
	client, err := service.New(service.Options{BaseURL: "https://nobody.invalid", APIKey: "none", Profile: &profile, Transport: nobody{}})
	if err != nil {
		return nil, err
	}
	return builtin.NewDesk(builtin.Options{
		Client: client, Directory: service.NewDirectory(client), Location: v.zone,
		Own: func(ctx context.Context, m service.Message) (bool, error) {
			own, err := v.Caused(ctx, workspaceName, "message.sent", []string{m.ID})
			return len(own) > 0, err
		},
	})
}

// nobody answers every request as a service does that has nothing.
type nobody struct{}

// RoundTrip sends nothing.
func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusNotFound, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"error":{"code":"not_found","message":"nobody was asked"}}`)),
	}, nil
}
