package rulescmd

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/blueprint"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/store"
	gallery "github.com/quandohq/quando/rules/templates"
)

//go:embed templates
var templates embed.FS

// editorLine tells an editor where the schema is, seen from the folder of the rules.
const editorLine = "# yaml-language-server: $schema=../quando.schema.json\n"

// NewInit returns the command init, which begins a project.
func NewInit() *cobra.Command {
	var template string
	var list, print, sandbox bool
	var set []string
	cmd := &cobra.Command{
		Use:   "init [dir]",
		Short: "Begin a project: a configuration, a rule and its tests",
		Long: `Init writes a configuration, a rule from a template, its tests, a rule that answers “ping quando”, the JSON Schema for your editor and a .gitignore
into a folder, this one unless another is named. It prints what to do next, until a message is answered; --sandbox writes the .env of that too. It never overwrites: when one of the files is there already it exits with 2 and writes nothing.

A template has blanks, such as a sector or a time. --set gives one its value; the others have their defaults. A template may also be a file of one's
own. With values of your own, the tests of the template are not written: they are about its defaults. --print prints the rule and writes nothing, for a
project that there is already.`,
		Example: "  quando init\n  quando init desk --sandbox\n  quando init desk --template sla-escalation --set first=10m --set sector=Gerência\n  quando init --print --template ours.yaml > rules/ours.yaml\n  quando init --list",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list || template == "list" {
				listTemplates(cmd.OutOrStdout())
				return nil
			}
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			rule, err := fillTemplate(template, set)
			if err != nil {
				return err
			}
			if print {
				_, err := cmd.OutOrStdout().Write(rule.text)
				return err
			}
			project, err := newProject(rule, sandbox)
			if err != nil {
				return err
			}
			written, err := project.write(dir)
			if err != nil {
				return err
			}
			written.describe(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&template, "template", "away-reply", "the `name` of the rule to begin with, or a template's file; list names them all")
	cmd.Flags().StringArrayVar(&set, "set", nil, "the value of a blank, as `name=value`; a comma stands between several")
	cmd.Flags().BoolVar(&print, "print", false, "print the rule, and write no project")
	cmd.Flags().BoolVar(&sandbox, "sandbox", false, "write .env too, with a key and a secret for quando sandbox")
	cmd.Flags().BoolVar(&list, "list", false, "print the names of the templates, and what each does")
	return cmd
}

// listTemplates prints each template with the name of its main rule, which is called like the
// template.
func listTemplates(w io.Writer) {
	for _, name := range examples.Names() {
		text := cli.Embedded(examples.FS(), path.Join(name, examples.RulesFile))
		set, _ := rules.Compile([]*rules.File{rules.Parse(name, text)}, rules.Options{Catalog: builtin.Catalog()})
		for _, rule := range set.Rules {
			if rule.ID == name {
				fmt.Fprintf(w, "%-22s  %s\n", name, rule.Name)
			}
		}
	}
}

// A project is the files that init writes, in the order in which it names them.
type project []projectFile

type projectFile struct {
	path string // from the project's folder, with slashes
	what string
	text []byte
	mine bool // one's own may stay in its place

	secret bool // for its owner alone
}

// A filledTemplate is the rule that a template gives.
type filledTemplate struct {
	name  string
	text  []byte
	tests []byte // nil if there are none for these values
}

// fillTemplate fills in one of the templates, or a file, with values as name=value.
func fillTemplate(name string, set []string) (filledTemplate, error) {
	text, ours := gallery.Text(name)
	file := name + ".yaml"
	if !ours {
		if !store.IsRuleFile(filepath.Base(name)) {
			hint := source.DidYouMean(name, gallery.Names()).String()
			if hint == "" {
				hint = "quando init --list names them"
			}
			return filledTemplate{}, fmt.Errorf("there is no template %q (%s)", name, hint)
		}
		var err error
		if text, err = cli.ReadBounded(name); err != nil {
			return filledTemplate{}, err
		}
		file, name = name, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	template, problems := blueprint.Parse(builtin.Catalog(), file, text)
	if template == nil {
		return filledTemplate{}, problems
	}
	if _, problems := template.Check(rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside}); problems.HasErrors() {
		return filledTemplate{}, problems
	}
	values, err := valuesOf(template, set)
	if err != nil {
		return filledTemplate{}, err
	}
	filled, wrong, err := template.Fill(values)
	for _, w := range wrong {
		err = errors.Join(err, fmt.Errorf("--set %s: %w", w.Blank.Name, w))
	}
	out := filledTemplate{name: name, text: filled}
	if ours && len(set) == 0 {
		out.tests = cli.Embedded(examples.FS(), path.Join(name, examples.TestsFile))
	}
	return out, err
}

// valuesOf reads values that are given as name=value.
func valuesOf(template *blueprint.Template, set []string) (map[string][]string, error) {
	values := make(map[string][]string)
	for _, one := range set {
		name, value, ok := strings.Cut(one, "=")
		blank := template.Blank(name)
		if !ok || blank == nil {
			var blanks []string
			for _, b := range template.Blanks {
				blanks = append(blanks, fmt.Sprintf("\n  %s=%s  %s", b.Name, strings.Join(b.Default, ","), b.Words.In(phrases.English)))
			}
			return nil, fmt.Errorf("--set %s names no blank; the template has%s", one, strings.Join(blanks, ""))
		}
		values[name] = []string{value}
		if blank.Type.IsList() {
			values[name] = strings.Split(value, ",")
		}
	}
	return values, nil
}

func newProject(rule filledTemplate, sandbox bool) (project, error) {
	schema, err := rules.JSONSchema(builtin.Catalog())
	if err != nil {
		return nil, err
	}
	p := project{
		{path: "quando.yaml", what: "the configuration", text: cli.Embedded(templates, "templates/quando.yaml")},
		{path: "rules/" + rule.name + ".yaml", what: "the rule", text: append([]byte(editorLine), rule.text...)},
	}
	if rule.tests != nil {
		p = append(p, projectFile{path: "rules/" + rule.name + "_test.yaml", what: "its tests", text: append([]byte(editorLine), rule.tests...)})
	}
	p = append(p,
		projectFile{path: "rules/ping.yaml", what: "answers “ping quando”, so that you see messages come and go", text: append([]byte(editorLine), cli.Embedded(templates, "templates/ping.yaml")...)},
		projectFile{path: "quando.schema.json", what: "what your editor needs to complete rules", text: append(schema, '\n')},
		projectFile{path: ".gitignore", what: "keeps the journal and secrets out of git", text: cli.Embedded(templates, "templates/gitignore"), mine: true},
	)
	if sandbox {
		p = append(p, projectFile{path: config.EnvironmentFile, what: "a key and a secret for quando sandbox, which run reads", text: config.NewSandboxEnvironment().Text(), secret: true})
	}
	return p, nil
}

// write puts the files into the folder, all of them or none, and returns them. One's own .gitignore
// stays.
func (p project) write(dir string) (project, error) {
	var there []string
	for _, f := range p {
		name := filepath.Join(dir, filepath.FromSlash(f.path))
		switch _, err := os.Lstat(name); {
		case err == nil && !f.mine:
			there = append(there, name)
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			return nil, cli.FileError(err)
		}
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("nothing was written, because %s would be overwritten; name another folder", strings.Join(there, ", "))
	}
	var written project
	for _, f := range p {
		err := f.create(dir)
		if f.mine && errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			for _, w := range written {
				os.Remove(filepath.Join(dir, filepath.FromSlash(w.path)))
			}
			return nil, cli.FileError(err)
		}
		written = append(written, f)
	}
	return written, nil
}

// create writes a file that is not there.
func (f projectFile) create(dir string) error {
	name := filepath.Join(dir, filepath.FromSlash(f.path))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	mode := fs.FileMode(0o666)
	if f.secret {
		mode = 0o600
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(f.text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(name) // it is ours, and not whole
	}
	return err
}

// describe says what was written and what to do next.
func (p project) describe(w io.Writer, dir string) {
	fmt.Fprintln(w, "Wrote")
	for _, f := range p {
		fmt.Fprintf(w, "  %-40s  %s\n", filepath.Join(dir, filepath.FromSlash(f.path)), f.what)
	}
	fmt.Fprintln(w, "\nNext")
	if filepath.Clean(dir) != "." {
		fmt.Fprintf(w, "  cd %s\n", dir)
	}
	fmt.Fprint(w, `  quando check    # every problem of the rules, and the scopes that the key needs
  quando test     # the tests of the rules, on a simulated clock

See them at work on nobody: be the customer, and move the clock. Ctrl-C ends it.
  quando play

Run them, through a webhook, with an imitation of the service; the last line shows the answer.
  quando sandbox --env .env & sleep 2    # it writes what run needs into .env
  quando run & sleep 3                   # receives events, decides, acts
  curl -d '{"phone":"+5511988887777","name":"Ana","text":"ping quando"}' http://127.0.0.1:9090/control/customers/message
  sleep 2; quando runs

For the real service, .env has SERVICE_URL, SERVICE_API_KEY and SERVICE_WEBHOOK_SECRET of your own, and no QUANDO_SERVICE_SANDBOX.
`)
}
