package rules

// phrases put what a condition found into words.
var phrases = Phrases{
	"was":         {"%s was %s", "%s era %s"},
	"wants":       {"%s was %s, and the rule wants %s", "%s era %s, e a regra pede %s"},
	"wants_order": {"%s was %s, and the rule wants %s %s", "%s era %s, e a regra pede %s %s"},
	"wants_else":  {"%s was %s, and the rule wants anything else", "%s era %s, e a regra pede qualquer outra coisa"},
	"not_set":     {"not set", "não definido"},
	"true":        {"true", "verdadeiro"},
	"false":       {"false", "falso"},
	"or":          {" or ", " ou "},

	"before":   {"before", "antes de"},
	"latest":   {"at the latest", "no mais tardar"},
	"after":    {"after", "depois de"},
	"earliest": {"at the earliest", "a partir de"},
	"less":     {"less than", "menos de"},
	"most":     {"at most", "no máximo"},
	"more":     {"more than", "mais de"},
	"least":    {"at least", "no mínimo"},

	"in":         {"%s was in %s", "%s estava em %s"},
	"not_in":     {"%s was not in %s", "%s não estava em %s"},
	"one_of":     {"%s was %s, which is one of %s", "%s era %s, que é um de %s"},
	"not_one_of": {"%s was %s, and the rule wants one of %s", "%s era %s, e a regra pede um de %s"},

	"contains":       {"%s contained %s", "%s continha %s"},
	"not_contains":   {"%s did not contain %s", "%s não continha %s"},
	"startsWith":     {"%s began with %s", "%s começava com %s"},
	"not_startsWith": {"%s did not begin with %s", "%s não começava com %s"},
	"endsWith":       {"%s ended with %s", "%s terminava com %s"},
	"not_endsWith":   {"%s did not end with %s", "%s não terminava com %s"},
	"matches":        {"%s matched %s", "%s combinava com %s"},
	"not_matches":    {"%s did not match %s", "%s não combinava com %s"},

	"says":             {"the message said %s", "a mensagem dizia %s"},
	"not_says":         {"the message did not say %s", "a mensagem não dizia %s"},
	"open":             {"the %s was open", "o calendário %s estava aberto"},
	"closed":           {"the %s was closed", "o calendário %s estava fechado"},
	"human_active":     {"somebody of the team had written within %s", "alguém da equipe tinha escrito nos últimos %s"},
	"not_human_active": {"nobody of the team had written within %s", "ninguém da equipe tinha escrito nos últimos %s"},
	"has_label":        {"the conversation had the label %s", "a conversa tinha a etiqueta %s"},
	"not_has_label":    {"the conversation did not have the label %s", "a conversa não tinha a etiqueta %s"},

	"time":    {"the time", "a hora"},
	"waiting": {"the time that the customer had waited", "o tempo que o cliente tinha esperado"},
	"number":  {"the number of %s within %s", "o número de %s em %s"},

	"moment": {"Mon 2006-01-02 15:04", "02/01/2006 15:04"},
}
