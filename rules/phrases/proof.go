package phrases

// proof are the texts of the proof beside a rule in the studio: the last days, a conversation, the
// tests.
var proof = table{
	"proof.bounded":        {"There were more than %s events in 14 days: only the newest were tried, so not all of the 14 days.", "Houve mais de %s eventos em 14 dias: só os mais novos foram experimentados, e não os 14 dias inteiros."},
	"proof.against":        {"Compared with the version in use", "Comparada com a versão em uso"},
	"proof.unchanged":      {"The version in use does the same: nothing of it was changed.", "A versão em uso faz o mesmo: nada dela foi alterado."},
	"proof.first":          {"No version is in use to compare with.", "Não há versão em uso com que comparar."},
	"proof.same.one":       {"the same for %s customer", "o mesmo para %s cliente"},
	"proof.same.many":      {"the same for %s customers", "o mesmo para %s clientes"},
	"proof.new.one":        {"%s would get it now who did not", "%s receberia agora e antes não"},
	"proof.new.many":       {"%s would get it now who did not", "%s receberiam agora e antes não"},
	"proof.gone.one":       {"%s no longer", "%s não mais"},
	"proof.gone.many":      {"%s no longer", "%s não mais"},
	"proof.other.one":      {"%s would get something else, or at another time", "%s receberia outra coisa, ou em outra hora"},
	"proof.other.many":     {"%s would get something else, or at another time", "%s receberiam outra coisa, ou em outra hora"},
	"proof.was":            {"before", "antes"},
	"proof.now":            {"now", "agora"},
	"proof.not_known.one":  {"%s event is left out of this: what one of the two versions asks was not recorded.", "%s evento fica fora disso: o que uma das duas versões pergunta não foi registrado."},
	"proof.not_known.many": {"%s events are left out of this: what one of the two versions asks was not recorded.", "%s eventos ficam fora disso: o que uma das duas versões pergunta não foi registrado."},
}
