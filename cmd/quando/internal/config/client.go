package config

import (
	"errors"
	"fmt"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// Client returns a client of the default workspace's service.
func (c *Config) Client() (*service.Client, error) {
	o, err := c.ServiceOptions(&c.Workspace)
	if err != nil {
		return nil, err
	}
	return c.NewClient(o)
}

// ServiceOptions returns what a client of a workspace's service is made with.
func (c *Config) ServiceOptions(w *Workspace) (service.Options, error) {
	profile, err := c.Profile(w)
	if err != nil {
		return service.Options{}, err
	}
	return service.Options{
		BaseURL: w.Service.BaseURL, APIKey: w.Service.APIKey, Profile: &profile, Rate: w.Service.Rate, Timeout: w.Service.Timeout,
		UserAgent: "quando/" + cli.Version(), Now: c.Now,
	}, nil
}

// Profile reads what the reference of a workspace's service leaves open, or returns what is usual.
func (c *Config) Profile(w *Workspace) (service.Profile, error) {
	if w.Service.Profile == "" {
		return service.DefaultProfile(), nil
	}
	file := c.Path(w.Service.Profile)
	text, err := cli.ReadBounded(file)
	if err != nil {
		return service.Profile{}, err
	}
	f, problems := source.Read(file, text)
	if problems.HasErrors() {
		return service.Profile{}, problems
	}
	if f.Root == nil || f.Root.Kind == source.Null {
		return service.DefaultProfile(), nil
	}
	settings, ok := f.Root.Any().(map[string]any)
	if !ok {
		return service.Profile{}, fmt.Errorf("%s: a profile is a mapping, not %s", file, f.Root.Kind)
	}
	p, errs := service.ProfileFromMap(settings)
	if err := errors.Join(errs...); err != nil {
		return service.Profile{}, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// ProfilePaths returns the candidate paths of a profile for a field of a section.
func ProfilePaths(p *service.Profile, section, field string) []string {
	for _, c := range p.Candidates(section) {
		if c.Field == field {
			return c.Paths
		}
	}
	return nil
}

// NewClient returns a client of a workspace's service. It refuses to send the key unencrypted to
// another machine, unless the configuration allows it.
func (w *Workspace) NewClient(o service.Options) (*service.Client, error) {
	client, err := service.New(o)
	if err == nil && client.Exposed() && w.Service.APIKey != "" && !w.Service.PlainHTTP {
		return nil, errors.New("service.base_url is not https, so that everybody on the way could read the API key; use https, or where nobody else is on the way set service.plain_http: true")
	}
	return client, err
}
