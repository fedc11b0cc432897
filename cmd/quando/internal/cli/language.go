package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/rules/phrases"
)

// LanguageFlag adds --lang to a command.
func LanguageFlag(cmd *cobra.Command) {
	cmd.Flags().String("lang", "", "tell problems in this `language`: en or pt (default: that of LC_ALL, LC_MESSAGES or LANG, else English)")
}

// CheckLanguage returns an error unless --lang names a language that problems are told in.
func CheckLanguage(cmd *cobra.Command) error {
	switch lang, _ := cmd.Flags().GetString("lang"); lang {
	case "", "en", "pt":
		return nil
	default:
		return fmt.Errorf("--lang is en or pt, not %q", lang)
	}
}

// Language returns the language in which a command tells problems: that of --lang, where the
// command has it, else that of the environment.
func Language(cmd *cobra.Command) phrases.Language {
	lang, _ := cmd.Flags().GetString("lang")
	if strings.HasPrefix(cmp.Or(lang, os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG")), "pt") {
		return phrases.Portuguese
	}
	return phrases.English
}
