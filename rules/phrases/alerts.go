package phrases

// alerts are what people are told outside of the console, and what the console says of that.
var alerts = table{
	"alert.one":      {"Quando: this needs a person", "Quando: isto precisa de alguém"},
	"alert.many":     {"Quando: %d things need a person", "Quando: %d coisas precisam de alguém"},
	"alert.over":     {"Quando: this needed a person and is over", "Quando: isto precisava de alguém e já passou"},
	"alert.clear":    {"Quando: all clear, nothing needs a person any more", "Quando: tudo em ordem, nada mais precisa de alguém"},
	"alert.test":     {"Quando: this is a test. What needs a person will be told here.", "Quando: isto é um teste. O que precisar de alguém será avisado aqui."},
	"alert.since":    {"%s (since %s)", "%s (desde %s)"},
	"alert.until":    {"%s: from %s to %s", "%s: das %s às %s"},
	"alert.by":       {"%s, by %s", "%s, por %s"},
	"alert.more":     {"and %d more", "e mais %d"},
	"alert.customer": {"a customer", "um cliente"},

	"health.alerts":        {"Told outside of the console", "Avisos fora do console"},
	"health.alerts.told":   {"Last told at %s.", "Último aviso em %s."},
	"health.alerts.never":  {"Nothing had to be told yet.", "Nada precisou ser avisado ainda."},
	"health.alerts.waits":  {"An alert waits and is sent again by itself: %s", "Um aviso espera e é enviado de novo sozinho: %s"},
	"health.alerts.tested": {"Test at %s: sent.", "Teste em %s: enviado."},
	"health.alerts.failed": {"Test at %s: did not get through: %s", "Teste em %s: não chegou: %s"},
	"button.alerts.test":   {"Send a test", "Enviar um teste"},
	"said.alerts_tested":   {"A test was sent each way. What became of it stands below.", "Um teste foi enviado por cada caminho. O resultado está abaixo."},
	"audit.test_alerts":    {"sent a test alert", "enviou um aviso de teste"},
}
