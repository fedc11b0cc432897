package config

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules/source"
)

// EnvironmentFile is the file beside a configuration whose NAME=value lines count as variables of
// the environment. The environment itself wins.
const EnvironmentFile = ".env"

// newReader returns a reader of a configuration, with the variables of the file beside it.
func newReader(file string, problems source.Problems) *reader {
	d := &reader{file: file, problems: problems}
	name := filepath.Join(filepath.Dir(file), EnvironmentFile)
	variables, err := ReadEnvironment(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.problems = append(d.problems, source.Problem{File: name, Line: 1, Column: 1, Severity: source.Error}.Saying(say("the file cannot be read: %v", err), nil))
	}
	d.beside = variables
	return d
}

// lookup returns a variable of the environment, or of the file beside the configuration.
func (d *reader) lookup(name string) (string, bool) {
	if value, set := os.LookupEnv(name); set {
		return value, true
	}
	value, set := d.beside[name]
	return value, set
}

// ReadEnvironment reads a file of NAME=value lines, with or without export and quotes around the
// value. Empty lines and those that begin with # say nothing.
func ReadEnvironment(name string) (map[string]string, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	text, err := cli.ReadBounded(name)
	if err != nil {
		return nil, err
	}
	variables := make(map[string]string)
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || !variable.MatchString("${"+key+"}") {
			return nil, fmt.Errorf("line %d is not NAME=value", n)
		}
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		variables[key] = value
	}
	return variables, lines.Err()
}

// A SandboxEnvironment is what quando run needs to work with a sandbox.
type SandboxEnvironment struct{ BaseURL, APIKey, WebhookSecret, ControlURL string }

// NewSandboxEnvironment makes up the key and the secret of a sandbox at the usual address.
func NewSandboxEnvironment() SandboxEnvironment {
	return SandboxEnvironment{
		BaseURL: "http://127.0.0.1:9090/v1", ControlURL: "http://127.0.0.1:9090/control",
		APIKey: "sandbox_" + strings.ToLower(rand.Text()), WebhookSecret: "whsec_" + strings.ToLower(rand.Text()),
	}
}

// Lines returns the variables that the configuration of a new project takes, as NAME=value.
func (e SandboxEnvironment) Lines() []string {
	return []string{"SERVICE_URL=" + e.BaseURL, "SERVICE_API_KEY=" + e.APIKey, "SERVICE_WEBHOOK_SECRET=" + e.WebhookSecret, "QUANDO_SERVICE_SANDBOX=" + e.ControlURL}
}

// Text returns what stands in the environment file.
func (e SandboxEnvironment) Text() []byte {
	return []byte("# What quando run needs to work with quando sandbox; a real service has values of its own.\n" + strings.Join(e.Lines(), "\n") + "\n")
}
