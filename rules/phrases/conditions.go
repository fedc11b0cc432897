package phrases

// conditions put what a condition found into words.
var conditions = table{
	"condition.was":         {"%s was %s", "%s era %s"},
	"condition.wants":       {"%s was %s, and the rule wants %s", "%s era %s, e a regra pede %s"},
	"condition.wants_order": {"%s was %s, and the rule wants %s %s", "%s era %s, e a regra pede %s %s"},
	"condition.wants_else":  {"%s was %s, and the rule wants anything else", "%s era %s, e a regra pede qualquer outra coisa"},
	"condition.not_set":     {"not set", "não definido"},
	"condition.true":        {"true", "verdadeiro"},
	"condition.false":       {"false", "falso"},
	"condition.or":          {" or ", " ou "},

	"condition.before":   {"before", "antes de"},
	"condition.latest":   {"at the latest", "no mais tardar"},
	"condition.after":    {"after", "depois de"},
	"condition.earliest": {"at the earliest", "a partir de"},
	"condition.less":     {"less than", "menos de"},
	"condition.most":     {"at most", "no máximo"},
	"condition.more":     {"more than", "mais de"},
	"condition.least":    {"at least", "no mínimo"},

	"condition.in":         {"%s was in %s", "%s estava em %s"},
	"condition.in.not":     {"%s was not in %s", "%s não estava em %s"},
	"condition.one_of":     {"%s was %s, which is one of %s", "%s era %s, que é um de %s"},
	"condition.one_of.not": {"%s was %s, and the rule wants one of %s", "%s era %s, e a regra pede um de %s"},

	"condition.contains":       {"%s contained %s", "%s continha %s"},
	"condition.contains.not":   {"%s did not contain %s", "%s não continha %s"},
	"condition.startsWith":     {"%s began with %s", "%s começava com %s"},
	"condition.startsWith.not": {"%s did not begin with %s", "%s não começava com %s"},
	"condition.endsWith":       {"%s ended with %s", "%s terminava com %s"},
	"condition.endsWith.not":   {"%s did not end with %s", "%s não terminava com %s"},
	"condition.matches":        {"%s matched %s", "%s combinava com %s"},
	"condition.matches.not":    {"%s did not match %s", "%s não combinava com %s"},

	"condition.says":             {"the message said %s", "a mensagem dizia %s"},
	"condition.says.not":         {"the message did not say %s", "a mensagem não dizia %s"},
	"condition.says_like":        {"the message said something like %s", "a mensagem dizia algo como %s"},
	"condition.says_like.not":    {"the message did not say anything like %s", "a mensagem não dizia nada como %s"},
	"condition.open":             {"the %s was open", "o calendário %s estava aberto"},
	"condition.closed":           {"the %s was closed", "o calendário %s estava fechado"},
	"condition.human_active":     {"somebody of the team had written within %s", "alguém da equipe tinha escrito nos últimos %s"},
	"condition.human_active.not": {"nobody of the team had written within %s", "ninguém da equipe tinha escrito nos últimos %s"},
	"condition.muted":            {"the conversation was muted", "a conversa estava silenciada"},
	"condition.muted.not":        {"the conversation was not muted", "a conversa não estava silenciada"},
	"condition.has_label":        {"the conversation had the label %s", "a conversa tinha a etiqueta %s"},
	"condition.has_label.not":    {"the conversation did not have the label %s", "a conversa não tinha a etiqueta %s"},

	"condition.contact_has_label":     {"the contact had the label %s", "o contato tinha a etiqueta %s"},
	"condition.contact_has_label.not": {"the contact did not have the label %s", "o contato não tinha a etiqueta %s"},

	"condition.time":    {"the time", "a hora"},
	"condition.waiting": {"the time that the customer had waited", "o tempo que o cliente tinha esperado"},
	"condition.number":  {"the number of %s within %s", "o número de %s em %s"},

	"condition.moment": {"Mon 2006-01-02 15:04", "02/01/2006 15:04"},
}
