package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

// guard stands before every request: it bounds rate and size, refuses what the caller's role does
// not allow, and audits what is let through.
func (c *caller) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "notifications/") || method == "initialize" || method == "ping" {
			return next(ctx, method, req)
		}
		if limit := c.limit(c.who.Name); !limit.Allow() {
			c.logRefused(limit)
			return refuse(method, fmt.Errorf("too many calls: there may be %d in a minute. Wait a moment", maxCalls))
		}
		switch p := req.GetParams().(type) {
		case *mcp.CallToolParamsRaw:
			if len(p.Arguments) > maxArguments {
				return refuse(method, fmt.Errorf("the arguments have more than %d KiB", maxArguments>>10))
			}
			if err := c.mayCall(p.Name); err != nil {
				return c.audited(ctx, method, "assistant.refused", p.Name, err)
			}
			if err := c.audit(ctx, "assistant."+p.Name, subjectOf(p.Arguments), ""); err != nil {
				return nil, err
			}
		case *mcp.ReadResourceParams:
			if err := c.audit(ctx, "assistant.resource", p.URI, ""); err != nil {
				return nil, err
			}
		case *mcp.GetPromptParams:
			if err := c.audit(ctx, "assistant.prompt", p.Name, ""); err != nil {
				return nil, err
			}
		}
		result, err := next(ctx, method, req)
		if list, ok := result.(*mcp.ListResourcesResult); ok && err == nil && list.NextCursor == "" {
			list.Resources = append(list.Resources, c.ruleResources()...)
		}
		return result, err
	}
}

// refuse answers a request that is not let through. Assistants read the result of a tool rather
// than an error of the protocol.
func refuse(method string, err error) (mcp.Result, error) {
	if method != "tools/call" {
		return nil, err
	}
	r := &mcp.CallToolResult{}
	r.SetError(err)
	return r, nil
}

// audited refuses a call and records that.
func (c *caller) audited(ctx context.Context, method, what, subject string, why error) (mcp.Result, error) {
	if err := c.audit(ctx, what, subject, why.Error()); err != nil {
		return nil, err
	}
	return refuse(method, why)
}

// mayCall says why the caller may not call a tool; nil if it may, or if there is no such tool.
func (c *caller) mayCall(name string) error {
	for _, t := range tools {
		if t.name == name && c.who.Role < t.role {
			return fmt.Errorf("%s needs the role %s, and this token has the role %s", name, t.role, c.who.Role)
		}
	}
	return nil
}

// author is the caller's name in the audit and the history.
func (c *caller) author() string { return "assistant " + c.who.Name }

// audit records a call. No call goes unrecorded.
func (c *caller) audit(ctx context.Context, what, subject, detail string) error {
	err := c.options.Journal.Audit(ctx, journal.AuditEntry{
		At: c.options.Now(), Who: c.author(), From: c.who.From, What: what, Subject: words.Cut(engine.Harmless(subject), 200), Detail: words.Cut(engine.Harmless(detail), 500),
	})
	if err != nil {
		return fmt.Errorf("audit the call: %w", err)
	}
	return nil
}

// subjectOf names what a call is about, as far as its arguments say.
func subjectOf(arguments json.RawMessage) string {
	var about struct{ Workspace, Rule, File, Event, Run, Conversation, Section, Kind, Type, State string }
	_ = json.Unmarshal(arguments, &about) // the tool itself refuses what it cannot read
	var parts []string
	for _, part := range []string{about.Workspace, about.Rule, about.File, about.Event, about.Run, about.Conversation, about.Section, about.Kind, about.Type, about.State} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// logRefused logs once a minute that calls are refused: a line for each would fill the log.
func (c *caller) logRefused(l *callerLimit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.options.Now(); now.Sub(l.told) >= time.Minute {
		l.told = now
		c.options.Logger.Warn("calls of an assistant are refused: there are too many", "assistant", c.who.Name, "per_minute", maxCalls)
	}
}
