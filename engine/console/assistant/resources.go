package assistant

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quandohq/quando/docs"
	"github.com/quandohq/quando/examples"
)

const (
	uriLanguage = "quando://language"
	uriTesting  = "quando://testing"
	uriExamples = "quando://examples/"
	uriRules    = "quando://rules/"

	yaml     = "application/yaml"
	markdown = "text/markdown"
)

// addResources adds the reference, the examples and the rules.
func (c *caller) addResources(m *mcp.Server) {
	add := func(uri, name, title, kind string, read func() (string, error)) {
		m.AddResource(&mcp.Resource{URI: uri, Name: name, Title: title, MIMEType: kind}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := read()
			return contents(uri, kind, text), err
		})
	}
	add(uriLanguage, "language", "The language of rules", markdown, func() (string, error) { return docs.Language, nil })
	add(uriTesting, "testing", "Tests of rules", markdown, func() (string, error) { return docs.Testing, nil })
	for _, name := range examples.Names() {
		add(uriExamples+name, "example "+name, "Example: "+name, yaml, func() (string, error) {
			rule, err := fs.ReadFile(examples.FS(), name+"/"+examples.RulesFile)
			if err != nil {
				return "", err
			}
			tests, err := fs.ReadFile(examples.FS(), name+"/"+examples.TestsFile)
			return string(rule) + "\n" + string(tests), err
		})
	}
	m.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: uriRules + "{workspace}/{rule}", Name: "rule", Title: "A rule of the desk, in the file where it stands", MIMEType: yaml},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			workspace, rule, ok := strings.Cut(strings.TrimPrefix(req.Params.URI, uriRules), "/")
			if !ok {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			w, err := c.space(workspace)
			if err != nil {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			f, _, err := open(w, rule)
			if err != nil {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			return contents(req.Params.URI, yaml, f.Text), nil
		})
}

func contents(uri, kind, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}
}

// maxListed bounds the rules that are listed as resources; the tool rules lists all.
const maxListed = 200

// ruleResources lists the rules as resources, as they stand now.
func (c *caller) ruleResources() (list []*mcp.Resource) {
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		lines, err := ruleLines(w)
		if err != nil {
			c.options.Logger.Error("the rules cannot be listed for an assistant", "error", err)
			continue
		}
		for _, l := range lines {
			if l.Stage != "proposed" && len(list) < maxListed {
				list = append(list, &mcp.Resource{URI: uriRules + w.Name + "/" + l.Rule, Name: l.Rule, Title: fmt.Sprintf("%s (%s)", l.Name, l.Stage), MIMEType: yaml})
			}
		}
	}
	return list
}
