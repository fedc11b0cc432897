package phrases

// reportWords are what a check says around the problems.
var reportWords = problemTable{
	"warning:":                            "aviso:",
	"rule %q:":                            "regra %q:",
	"%s in %s":                            "%s em %s",
	"1 good rule":                         "1 regra boa",
	"%d good rules":                       "%d regras boas",
	"1 file":                              "1 arquivo",
	"%d files":                            "%d arquivos",
	"1 error":                             "1 erro",
	"%d errors":                           "%d erros",
	"no errors":                           "nenhum erro",
	"1 warning":                           "1 aviso",
	"%d warnings":                         "%d avisos",
	"No rules start each other for ever.": "Nenhuma regra inicia outra sem parar.",
	"No test was run, because the rules have problems.": "Nenhum teste foi feito, porque as regras têm problemas.",
	"Scopes that the key needs, and what for:":          "Escopos de que a chave precisa, e para quê:",
	"facts of attendances":                              "fatos de atendimentos",
	"facts of contacts, names of labels":                "fatos de contatos, nomes de etiquetas",
	"facts of conversations, names of channels":         "fatos de conversas, nomes de canais",
	"who wrote last, whether a message was sent":        "quem escreveu por último, se uma mensagem foi enviada",
	"names of people and sectors":                       "nomes de pessoas e setores",
	"cards, names of boards and stages":                 "cartões, nomes de quadros e etapas",
	"the items that the schedule goes through":          "os itens que a agenda percorre",
	"the webhook, which the engine looks after":         "o webhook, de que o motor cuida",
	"events that no webhook told":                       "eventos que nenhum webhook contou",
}
