package phrases

// A problemTable has the Portuguese of English formats and words of messages.
type problemTable map[string]string

// problems is what is wrong with rules and configurations, and what to do about it, by theme. A
// text is in one of the tables only.
var problems = [...]problemTable{
	ruleProblems, expressionProblems, yamlProblems, calendarProblems, testProblems, configurationProblems, otherWordHints, problemWords, reportWords, templateProblems, editorProblems,
}
