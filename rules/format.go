package rules

import "github.com/quandohq/quando/rules/source"

// Format returns a rule file in its canonical form, with its comments. What the file means stays the same.
func Format(name string, text []byte) ([]byte, Problems) {
	return source.Format(name, text, source.Style{
		Order: func(path string) []string {
			switch path {
			case "":
				return fileKeys
			case "rules[]":
				return ruleKeyNames()
			case "tests[]":
				return testKeys
			}
			return nil
		},
		Apart: func(path string) bool { return path == "" || path == "rules" || path == "tests" },
	})
}
