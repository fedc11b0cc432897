package phrases

// A problemTable has the Portuguese of English formats and words of messages.
type problemTable map[string]string

// problems is what is wrong with rules and configurations, and what to do about it, by theme. A
// text is in one of the tables only.
var problems = [...]problemTable{
	ruleProblems, expressionProblems, yamlProblems, calendarProblems, testProblems, configurationProblems, otherWordHints, problemWords, reportWords, templateProblems, editorProblems,
}

// editorProblems are what the language server says to people who write rules in their editor.
var editorProblems = problemTable{
	"Run test":         "Executar teste",
	"must be given":    "deve ser dado",
	"Expressions see:": "As expressões veem:",
	"passed: %s":       "passou: %s",
	"failed: %s: %s":   "falhou: %s: %s",
	"%d tests passed":  "%d testes passaram",
	"%q is taken":      "%q já existe",

	"nothing that can be renamed stands here: stand on the id of a rule or a step, a constant or a calendar": "não há nada aqui que possa ser renomeado: fique sobre o id de uma regra ou de um passo, uma constante ou um calendário",
	"%q is not defined in these files":                                                                         "%q não está definido nestes arquivos",
	"%q cannot be written without quotes: use letters, digits and dashes":                                      "%q não pode ser escrito sem aspas: use letras, dígitos e hífens",
	"the id of a rule has small letters, digits and dashes, at most 64":                                        "o id de uma regra tem letras minúsculas, dígitos e hífens, no máximo 64",
	"the rule starts afresh under its new id: limits count from nothing, and its unfinished runs stay with %q": "a regra recomeça com o novo id: os limites contam do zero, e as execuções inacabadas ficam com %q",
	"the configuration of this file cannot be read; quando check says why":                                     "a configuração deste arquivo não pode ser lida; quando check diz por quê",
	"there is no such test in %s":                                                                              "não há esse teste em %s",
	"%s, on %d events of the last 14 days: %s":                                                                 "%s, em %d eventos dos últimos 14 dias: %s",
	"%s, on %d events of the last 14 days: nothing":                                                            "%s, em %d eventos dos últimos 14 dias: nada",
}
