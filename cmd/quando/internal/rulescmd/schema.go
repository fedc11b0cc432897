package rulescmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

// NewSchema returns the command schema, which prints the JSON Schema of rule files.
func NewSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rule files, for completion in an editor",
		Long: `Schema prints the JSON Schema (draft-07) of rule files. An editor with yaml-language-server completes and checks rules with it:
save it as quando.schema.json and begin a rule file with

  # yaml-language-server: $schema=quando.schema.json`,
		Example: "  quando schema > quando.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := rules.JSONSchema(builtin.Catalog())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), string(schema))
			return err
		},
	}
}
