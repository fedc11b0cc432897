package main

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/console"
)

// TestEmptyAccess shows that a token, users or names that are written and come out empty keep
// quando from starting, on this machine's own address too: everybody would be an operator, and
// nobody would know.
func TestEmptyAccess(t *testing.T) {
	t.Setenv("EMPTY", "")
	t.Setenv("BLANK", " \n")
	o := newOffice(t)
	for _, console := range []string{
		"token: \"\"", "token: ", "token: ~", "token: !Secret123", "token: ${EMPTY}", "token: \"${EMPTY}${EMPTY}\"", "token: ${BLANK}", "token: &horse", "token: !!str", "token: !horse battery",
		"users: {}", "users: ", "users: ~", "users: []", "hosts: []", "hosts: [\"${EMPTY}\"]", "hosts: ",
	} {
		code, errOut := o.runsFor(time.Minute, o.service()+"\nconsole:\n  listen: \"127.0.0.1:0\"\n  "+console)
		key, _, _ := strings.Cut(console, ":")
		if code != cli.ExitError || !strings.Contains(errOut, "quando.yaml:") {
			t.Errorf("%s with %s: %d %s", key, console, code, errOut)
		}
	}
	for _, value := range []string{"", " ", "\n"} {
		t.Setenv("QUANDO_CONSOLE_TOKEN", value)
		if code, errOut := o.runsFor(time.Minute, o.service()+"\nconsole: { listen: \"127.0.0.1:0\" }"); code != cli.ExitError || !strings.Contains(errOut, "QUANDO_CONSOLE_TOKEN") {
			t.Errorf("%q: %d %s", value, code, errOut)
		}
	}
}

// runsFor runs quando until it refuses to, or the time is over.
func (o *office) runsFor(most time.Duration, config string) (code int, errOut string) {
	ctx, cancel := context.WithTimeout(o.t.Context(), most)
	defer cancel()
	var b strings.Builder
	code = run(ctx, []string{"run", "--config", o.config(config)}, strings.NewReader(""), io.Discard, &b)
	return code, b.String()
}

// TestTokenOfAnyText does what a stranger did: the token begins with a character that YAML takes
// for a tag, or holds what it takes for a comment, and the console is asked without it, with what
// was left of it, and with all of it.
func TestTokenOfAnyText(t *testing.T) {
	o := newOffice(t)
	for _, token := range []string{"!Secret123-of-the-desk", "correct horse #battery"} {
		t.Setenv("QUANDO_CONSOLE_TOKEN", token)
		o.start(o.service())
		for given, want := range map[string]int{"": 401, "Bearer ": 401, "Bearer correct horse": 401, "Bearer " + token: 200, "Bearer  " + token + " ": 200} {
			if got, _ := o.asks("GET", o.console+"/metrics", map[string]string{"Authorization": given}, ""); got != want {
				t.Errorf("%s: %q is answered with %d", token, given, got)
			}
		}
		o.logs("console access", map[string]any{"level": "INFO", "asks_for": "a token"})
		o.stop()
	}
}

// TestPassword makes a hash that the configuration takes, and refuses a short password.
func TestPassword(t *testing.T) {
	var out, errOut strings.Builder
	if code := run(t.Context(), []string{"password"}, strings.NewReader("correct horse\n"), &out, &errOut); code != 0 {
		t.Fatal(errOut.String())
	}
	hash := strings.TrimSpace(out.String())
	c, err := config.Load(clitest.WriteConfig(t, "console:\n  users:\n    ana: { role: operator, password: "+strconv.Quote(hash)+" }\n"), false)
	if err != nil || c.Console.Users["ana"] != (console.User{Role: console.Operator, Password: hash}) {
		t.Errorf("%+v, %v", c, err)
	}
	if code := run(t.Context(), []string{"password"}, strings.NewReader("short\n"), &out, &errOut); code != cli.ExitError {
		t.Error("a short password was taken")
	}
}

// TestAccessIsTold shows that the log says at the start who is asked for what.
func TestAccessIsTold(t *testing.T) {
	o := newOffice(t)
	var hash strings.Builder
	if code := run(t.Context(), []string{"password"}, strings.NewReader("correct horse\n"), &hash, io.Discard); code != 0 {
		t.Fatal(code)
	}
	user := " { role: viewer, password: " + strconv.Quote(strings.TrimSpace(hash.String())) + " }"
	for _, tt := range []struct{ console, level, asks string }{
		{"", "INFO", "nothing: everybody who reaches it is an operator"},
		{", hosts: [desk.example.com]", "WARN", "nothing: everybody who reaches it is an operator"},
		{", forwarded_for: X-Real-IP", "WARN", "nothing: everybody who reaches it is an operator"},
		{", token: a-token-of-some-length", "INFO", "a token"},
		{", users: { ana: " + user + " }", "INFO", "the password of 1 user"},
		{", token: a-token-of-some-length, users: { ana: " + user + ", bia: " + user + " }", "INFO", "a token, or the password of one of 2 users"},
	} {
		o.start(o.service() + "\nconsole: { listen: \"127.0.0.1:0\"" + tt.console + " }")
		o.logs("console access", map[string]any{"level": tt.level, "asks_for": tt.asks})
		if strings.Contains(o.log.String(), "a-token-of") {
			t.Errorf("the token is in the log:\n%s", o.log)
		}
		o.stop()
	}
}
