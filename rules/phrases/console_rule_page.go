package phrases

// consoleRulePage are the texts of the page of a rule.
var consoleRulePage = table{
	"rule.since":          {"since %s", "desde %s"},
	"studio.tab.activity": {"Activity", "Atividade"},
}
