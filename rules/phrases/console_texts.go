package phrases

// consoleTexts are the words of the field in which a text is written, and of its preview.
var consoleTexts = table{
	"text.write":           {"Write here; / inserts something", "Escreva aqui; / insere algo"},
	"text.insert":          {"What can be inserted", "O que pode ser inserido"},
	"text.by_hand":         {"by hand: $", "à mão: $"},
	"text.inserted":        {"$ inserted", "$ inserido"},
	"text.removed":         {"$ removed", "$ removido"},
	"text.chosen":          {"$ chosen: Enter changes it, Backspace removes it", "$ escolhido: Enter altera, Backspace remove"},
	"text.ways":            {"How it is written", "Como é escrito"},
	"text.instead":         {"Something else", "Outra coisa"},
	"text.preview_of":      {"%s would have got this on %s", "%s teria recebido isto em %s"},
	"text.preview_made_up": {"%s, a made-up customer, would get this", "%s, cliente de exemplo, receberia isto"},
	"text.preview_none":    {"No example yet", "Ainda sem exemplo"},
	"picker.more":          {"Show more", "Mostrar mais"},
	"text.preview":         {"As a customer would get it", "Como um cliente receberia"},
}
