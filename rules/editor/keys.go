package editor

// keyDocs say what keys are for that the tables of the language say nothing about.
var keyDocs = map[string]string{
	"vars":      "constants that the file's expressions read as `vars.<name>`",
	"calendars": "opening hours, known to the whole rule set",
	"rules":     "the rules; in a test, the ids of those that run, or `all`",
	"tests":     "stories, with what the rules must do in them",

	"every":    "a schedule: the time between two runs, such as `15m`",
	"cron":     "a schedule: minute hour day-of-month month day-of-week",
	"at":       "a time of day, such as `09:00`; in a test also `+10m` and `sat 09:06`",
	"on":       "the days of `at`, such as `mon-fri`",
	"timezone": "an IANA zone; the workspace's unless given",
	"each":     "one run for each item found",
	"where":    "which items `each` finds: the filters of the service's list",

	"times":      "how many runs at most",
	"per":        "the length of the window that they are counted in",
	"quiet":      "how long nothing may come before the run begins",
	"at_most":    "how long is waited for that in all",
	"skip_after": "events that are older than this do not start the rule; `none` for never",
	"run":        "which missed ticks of a schedule are run: `last`, `all` or `none`",

	"else":          "the steps that are taken where no condition was true",
	"retry":         "how often a failed call is tried again",
	"even_if_muted": "sends although the conversation is muted",
	"enabled":       "`false` leaves the step out",

	"start":  "when the story begins",
	"given":  "what the desk has when the story begins",
	"safety": "the safety bounds of the story; those of the workspace unless given",
	"steps":  "what happens, and what must come of it",
	"faults": "what goes wrong in further tellings of the story: `all`, or which",

	"customer":     "the customer who writes",
	"team":         "the person of the team who does something",
	"says":         "what is written",
	"sends":        "the file that is sent",
	"to":           "whom it is written to",
	"closes":       "whose attendance is closed",
	"moves":        "the card that is moved",
	"takes":        "whose conversation is taken",
	"event":        "an event, by its name",
	"expect":       "what the rules must have done since the last check; `[]` is nothing",
	"expect_would": "what rules in shadow would have done since the last check",
	"fault":        "what the service does wrong from here on",
	"answer":       "what another system answers to `http_request`",
}
