package phrases

import "fmt"

// texts are a text in English and in Brazilian Portuguese, in the format of package fmt.
type texts [languages]string

func (t texts) with(l Language, args []any) string {
	if len(args) == 0 {
		return t[l]
	}
	return fmt.Sprintf(t[l], args...)
}

// A table is a part of the catalogue.
type table map[Code]texts

// catalogue is every text, by theme. A code is in one of the tables only.
var catalogue = [...]table{engineReasons, verbReasons, backfillProblems, conditions, explanations}

func lookUp(code Code) (t texts, ok bool) {
	for _, part := range catalogue {
		if t, ok = part[code]; ok {
			break
		}
	}
	return t, ok
}
