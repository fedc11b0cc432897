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
	"picker.upload":        {"Upload a file", "Enviar um arquivo"},
	"upload.large":         {"The file is too large: at most 16 MB.", "O arquivo é grande demais: no máximo 16 MB."},
	"upload.taken":         {"There is another file of this name, which rules may be sending. Give yours another name.", "Já há outro arquivo com esse nome, que regras podem estar enviando. Dê outro nome ao seu."},
	"audit.upload":         {"uploaded a file", "enviou um arquivo"},
	"picker.absent":        {"“%s” is not there yet: use it anyway", "“%s” ainda não existe: usar assim mesmo"},
	"picker.absent_help":   {"Rules cannot create it: make it in the messaging app before this rule runs.", "As regras não conseguem criá-lo: crie no aplicativo de mensagens antes que esta regra rode."},
	"picker.other":         {"Another value …", "Outro valor …"},
	"picker.more":          {"Show more", "Mostrar mais"},
	"text.preview":         {"As a customer would get it", "Como um cliente receberia"},
}
