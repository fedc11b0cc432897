package phrases

// consoleActivity are the texts of what rules did and what happened: the list, a run, an event, and
// how a time is said.
var consoleActivity = table{
	"moment.yesterday": {"yesterday %s", "ontem %s"},
	"moment.tomorrow":  {"tomorrow %s", "amanhã %s"},
}
