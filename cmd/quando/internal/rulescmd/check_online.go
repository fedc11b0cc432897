package rulescmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// checkOnline asks the service of a workspace for every name that the rules use, and for what the
// key may do.
func checkOnline(cmd *cobra.Command, w *ruleWorkspace, set *rules.Set) (rules.Problems, error) {
	file, _ := cmd.Flags().GetString("config")
	load := func() (*config.Config, error) { return config.Load(file, true) }
	if w.nested != "" {
		file = w.nested
		load = func() (*config.Config, error) { return config.LoadOf(file) }
	}
	c, err := load()
	if err != nil {
		return nil, err
	}
	workspace := cmp.Or(w.of, config.DefaultWorkspaceName)
	if workspace == config.DefaultWorkspaceName && c.Service.BaseURL == "" && len(c.Workspaces) > 0 {
		return nil, nil // the top level has only what is common, and is not run
	}
	options, err := c.ServiceOptions(c.Named(workspace))
	if err != nil {
		return nil, err
	}
	client, err := c.Named(workspace).NewClient(options)
	if err != nil {
		return nil, err
	}
	o := &onlineCheck{client: client.Patient(), directory: service.NewDirectory(client.Patient())}
	for _, use := range set.Names() {
		if err := o.name(cmd.Context(), use); err != nil {
			return nil, err
		}
	}
	if err := o.scopes(cmd.Context(), file, set); err != nil {
		return nil, err
	}
	return o.problems, nil
}

type onlineCheck struct {
	client    *service.Client
	directory *service.Directory
	problems  rules.Problems
}

// name reports a name that the service does not know.
func (o *onlineCheck) name(ctx context.Context, use rules.NameUse) error {
	err := o.find(ctx, use)
	if err == nil {
		return o.exactName(ctx, use)
	}
	unknown, ok := errors.AsType[*service.NameError](err)
	if !ok {
		return err
	}
	if use.Field != "" && len(unknown.IDs) > 0 {
		return nil // it is compared with the name, whichever of them has it
	}
	var hint *phrases.Message
	switch {
	case len(unknown.Near) > 0:
		hint = phrases.Sprintf("did you mean %q?", unknown.Near[0])
	case len(unknown.IDs) > 0:
		hint = phrases.Sprintf("several have it; write the id of one: %s", strings.Join(unknown.IDs, ", "))
	case use.Kind != "stage":
		names, err := o.directory.Names(ctx, service.Kind(use.Kind))
		if err != nil {
			return err
		}
		hint = source.OneOf(use.Name, names)
	}
	o.problems = append(o.problems, use.Problem(phrases.Sprintf("%q is not %s of the service", use.Name, phrases.Word("a "+use.Kind)), cmp.Or(o.otherKind(ctx, use), hint)))
	return nil
}

// otherKind says what to write for a person that is given as a sector, and the other way around.
func (o *onlineCheck) otherKind(ctx context.Context, use rules.NameUse) *phrases.Message {
	other := map[string]string{"sector": "person", "person": "sector"}[use.Kind]
	if other == "" {
		return nil
	}
	if _, err := o.directory.ID(ctx, service.Kind(other), use.Name); err != nil {
		return nil
	}
	if use.Field != "" {
		field := map[string]string{"person": "assignee_name", "sector": "sector_name"}[other]
		return phrases.Sprintf("%s is %s: compare %s", use.Name, phrases.Word("a "+other), field)
	}
	write := fmt.Sprintf("transfer: { %s: %s }", other, use.Name)
	if beside := use.Beside(other); beside != "" {
		write = fmt.Sprintf("{ %s: %s }", beside, use.Name)
	}
	return phrases.Sprintf("%s is %s: %s", use.Name, phrases.Word("a "+other), write)
}

// exactName reports a name that an expression compares in other letters than the service has it in.
func (o *onlineCheck) exactName(ctx context.Context, use rules.NameUse) error {
	if use.Field == "" || use.Kind == "stage" {
		return nil
	}
	names, err := o.directory.Names(ctx, service.Kind(use.Kind))
	if err != nil || slices.Contains(names, use.Name) {
		return err
	}
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, use.Name) })
	var hint *phrases.Message
	if i >= 0 {
		hint = phrases.Sprintf("write %q", names[i])
	}
	o.problems = append(o.problems, use.Problem(phrases.Sprintf("%s is never %q: the service writes it otherwise", use.Field, use.Name), hint))
	return nil
}

func (o *onlineCheck) find(ctx context.Context, use rules.NameUse) error {
	switch {
	case use.Kind == "stage" && use.Board == "":
		return o.stageOfAnyBoard(ctx, use.Name)
	case use.Kind == "stage":
		_, err := o.directory.StageID(ctx, use.Board, use.Name)
		if unknown, ok := errors.AsType[*service.NameError](err); ok && unknown.Kind == service.KindBoard {
			return nil // the board itself is reported where it stands
		}
		return err
	}
	_, err := o.directory.ID(ctx, service.Kind(use.Kind), use.Name)
	return err
}

// stageOfAnyBoard looks for a stage whose board only the card tells.
func (o *onlineCheck) stageOfAnyBoard(ctx context.Context, name string) error {
	boards, err := o.directory.Names(ctx, service.KindBoard)
	if err != nil {
		return err
	}
	var unknown error = &service.NameError{Kind: service.KindStage, Name: name}
	for _, board := range boards {
		_, err := o.directory.StageID(ctx, board, name)
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*service.NameError](err); !ok {
			return err
		} else if len(e.Near) > 0 {
			unknown = e
		}
	}
	return unknown
}

// scopes reports scopes that the rules need and the key lacks, where the service tells what the key
// has.
func (o *onlineCheck) scopes(ctx context.Context, file string, set *rules.Set) error {
	me, err := o.client.Me(ctx)
	if err != nil {
		return err
	}
	if len(me.Scopes) == 0 {
		return nil
	}
	hint := phrases.Sprintf("give the key the scope, or use another key")
	for _, r := range set.Rules {
		for _, scope := range r.Scopes {
			if !slices.Contains(me.Scopes, scope) {
				o.problems = append(o.problems, r.Problem(source.Error, phrases.Sprintf("the API key of %s lacks the scope %s", file, scope), hint))
			}
		}
		for _, scope := range r.Reads {
			// An event may carry the fact, so this need not come to pass.
			if !slices.Contains(me.Scopes, scope) && !slices.Contains(r.Scopes, scope) {
				o.problems = append(o.problems, r.Problem(source.Warning, phrases.Sprintf("the API key of %s lacks the scope %s, with which facts and names are read", file, scope), hint))
			}
		}
	}
	return nil
}
