package sentence_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// survey is a rule with results, an item and variables.
const survey = `vars: { sales_phone: "+55", companies: [A, B] }
rules:
  - id: survey
    when: attendance.closed
    gather: { quiet: 20s }
    do:
      - wait_for: { event: message.received, timeout: 24h }
        id: answer
      - set: { score: "{{ number(answer.message.text) }}" }
      - list_attendances: { status: open }
        id: waiting
      - find_card: { board: Sales }
        id: found
      - for_each:
          in: waiting.items
          as: each
          do:
            - log: done
            - log: more
`

func scopeOf(t *testing.T, text, id string, vars map[string]any) sentence.Scope {
	t.Helper()
	f, err := form.Read(builtin.Catalog(), []byte(text), id)
	if err != nil {
		t.Fatal(err)
	}
	return sentence.NewScope(builtin.Catalog(), f, vars, f.Do)
}

// TestWords shows how conditions read in both languages.
func TestWords(t *testing.T) {
	t.Parallel()
	scope := scopeOf(t, survey, "survey", map[string]any{"sales_phone": "+55", "companies": []any{"A", "B"}})
	for _, c := range []struct{ expression, english, portuguese string }{
		{`closed("office")`, "office is closed", "office está fora do horário de atendimento"},
		{`not closed("office")`, "office is open", "office está em horário de atendimento"},
		{`contact_has_label("vip")`, "the customer has the label vip", "o cliente tem a etiqueta vip"},
		{`"vip" in contact.labels`, "the customer has the label vip", "o cliente tem a etiqueta vip"},
		{`any(contact.labels, # in ["vip", "gold"])`, "the customer has one of the labels vip, gold", "o cliente tem uma das etiquetas vip, gold"},
		{`attendance.first_response != nil`, "the team has answered", "a equipe já respondeu"},
		{`not (attendance.first_response != nil)`, "the team has not answered", "a equipe ainda não respondeu"},
		{`not human_active("15m")`, "nobody of the team wrote in the last 15 minutes", "faz 15 minutos que ninguém da equipe escreve"},
		{`says("boleto", "2ª via")`, "the message says “boleto” or “2ª via”", "a mensagem diz “boleto” ou “2ª via”"},
		{`business_time("office", attendance.opened_at, now()) > duration("30m")`, "the attendance has been open longer than 30 minutes of office hours", "o atendimento está aberto há mais de 30 minutos no horário de office"},
		{`customer_waiting() > duration("1h30m")`, "the customer has waited longer than 1 hour and 30 minutes", "o cliente espera há mais de 1 hora e 30 minutos"},
		{`count_events("message.received", "1h") > 3`, "“message received” happened more than 3 times in the last 1 hour", "houve “mensagem recebida” mais de 3 vezes em 1 hora"},
		{`number(answer.message.text) == 1`, "the number in the text of the answer is 1", "o número no texto da resposta é 1"},
		{`answer == nil`, "nobody answered", "ninguém respondeu"},
		{`found != nil`, "a card was found", "um cartão foi encontrado"},
		{`each.sector_name == "Finance"`, "the attendance's sector (each) is Finance", "o setor do atendimento (each) é Finance"},
		{`any(waiting.items, #.sector_name == "Finance")`, "for at least one of the attendances found (waiting): the attendance is in the sector Finance", "nos atendimentos encontrados (waiting), pelo menos uma vez: o atendimento está no setor Finance"},
		{`count(waiting.items, #.sector_name == "Finance") > 3`, "the number of the attendances found (waiting) in the sector Finance is more than 3", "a quantidade dos atendimentos encontrados (waiting) no setor Finance é mais de 3"},
		{`count(waiting.items, #.sector_name == nil) > 3`, "the number of the attendances found (waiting) in no sector is more than 3", "a quantidade dos atendimentos encontrados (waiting) sem setor é mais de 3"},
		{`score <= 2.5`, "score is at most 2.5", "score é no máximo 2,5"},
		{`contact.company in vars.companies`, "the customer's company is one of companies", "a empresa do cliente é um destes valores: companies"},
		{`card.priority not in ["low", "medium"]`, "the card's priority is none of low, medium", "a prioridade do cartão não é nenhum destes valores: baixa, média"},
		{`(contact.name ?? "") == ""`, "the customer's name is empty", "o nome do cliente está em branco"},
		{`contact.city == nil`, "the customer's city is missing", "a cidade do cliente não consta"},
		{`now().Weekday().String() in ["Saturday", "Sunday"]`, "today is one of Saturday, Sunday", "hoje é um destes dias: sábado, domingo"},
		{`int(now().Weekday()) in [6, 0]`, "the weekday of now is one of Saturday, Sunday", "o dia da semana de agora é um destes valores: sábado, domingo"},
		{`now().Month().String() == "December"`, "the month of now is December", "o mês de agora é dezembro"},
		{`next_open("office") - now() > duration("2h")`, "office opens in more than 2 hours", "office abre daqui a mais de 2 horas"},
		{`next_open("office") - now() >= duration("2h")`, "how long it is until office opens is at least 2 hours", "quanto falta para office abrir é no mínimo 2 horas"},
		{`now().Format("15:04") >= "18:00"`, "it is 18:00 or later", "são 18:00 ou mais tarde"},
		{`22 <= now().Hour()`, "it is 22:00 or later", "são 22h ou mais tarde"},
		{`now() - message.created_at < duration("2d")`, "the moment of the message was less than 2 days ago", "o momento da mensagem foi há menos de 2 dias"},
		{`attendance.opened_at < date("2026-12-24")`, "the opening of the attendance is before 24 December 2026", "a abertura do atendimento é antes de 24/12/2026"},
		{`message.text matches "^ *[1-5] *$"`, "the message's text looks like a digit from 1 to 5", "o texto da mensagem tem a forma de um algarismo de 1 a 5"},
		{`event.data.campaign.name == "x"`, "campaign name, as it came with the event is “x”", "campaign name, como veio no evento é “x”"},
		{`open("office") and not (muted() or conversation.kind == "group")`, "office is open and (none of this: automatic messages are muted for this conversation; the conversation is a group)", "office está em horário de atendimento e (nada disto: as mensagens automáticas estão silenciadas nesta conversa; a conversa é um grupo)"},
		{`open("office") and reduce(x, #acc) == 1`, "office is open and reduce(x, #acc) is 1", "office está em horário de atendimento e reduce(x, #acc) é 1"},
	} {
		read := sentence.Read(c.expression)
		if got := scope.Say(phrases.English, read); got != c.english {
			t.Errorf("%s in English:\n%s\nwant\n%s", c.expression, got, c.english)
		}
		if got := scope.Say(phrases.Portuguese, read); got != c.portuguese {
			t.Errorf("%s in Portuguese:\n%s\nwant\n%s", c.expression, got, c.portuguese)
		}
	}
}

// TestPieces shows the chips of a sentence: where the term of each stands, and what it is chosen
// with.
func TestPieces(t *testing.T) {
	t.Parallel()
	chips := func(x string) (out []string) {
		for _, p := range (sentence.Scope{}).Pieces(phrases.English, sentence.Read(x)) {
			if p.Blank == "" {
				out = append(out, p.Words)
			} else {
				out = append(out, "["+p.Words+"|"+p.Blank+"|"+p.Picker+"]")
			}
		}
		return out
	}
	for x, want := range map[string]string{
		`closed("office")`: "[office|calendar|calendar] is closed",
		`business_time("office", attendance.opened_at, now()) > duration("30m")`: "the attendance has been open longer than [30 minutes|y|duration] of [office|x.calendar|calendar] hours",
		`not has_label("vip")`:                        "the conversation does not have the label [vip|name|label]",
		`card.priority == "high"`:                     "[the card's priority|x|value] is [high|y|choice]",
		`card.stage_name in ["Won", "Lost"]`:          "the card is in one of the stages [Won, Lost|list|stages]",
		`conversation.sector_name in ["A"]`:           "[the conversation's sector|x|value] is one of [A|list|sectors]",
		`says("a", "b")`:                              "the message says [a or b|words|words]",
		`number(message.text) in [1, 2]`:              "the number in [the message's text|x.text|value] is one of [1, 2|list|numbers]",
		`any(messages, #.media_id != nil)`:            "for at least one of [the collected messages|list|list]: [the message has a file|condition|condition]",
		`now().Weekday().String() == "Monday"`:        "it is [Monday|y|weekday]",
		`count_events("message.received", "1h") >= 3`: "[message received|x.type|event] happened at least [3|y|number] times in the last [1 hour|x.duration|duration]",
		`contact.name contains "Silva"`:               "[the customer's name|x|value] contains [Silva|y|text]",
		`attendance.first_response != nil`:            "the team has answered",
		`reduce(x, #acc) > 1`:                         "[reduce(x, #acc)|x|value] is more than [1|y|value]",
	} {
		if got := strings.Join(chips(x), ""); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", x, got, want)
		}
	}
	for _, p := range (sentence.Scope{}).Pieces(phrases.Portuguese, sentence.Read(`card.priority == "high"`)) {
		want := []sentence.Choice{{Value: "low", Words: "baixa"}, {Value: "medium", Words: "média"}, {Value: "high", Words: "alta"}, {Value: "urgent", Words: "urgente"}}
		if diff := cmp.Diff(want, p.Values); p.Picker == "choice" && diff != "" {
			t.Error(diff)
		}
	}
}

var blank = regexp.MustCompile(`\{(\w+)\}`)

// TestEverythingHasWords shows that the catalogue has words for every form, with all of its blanks,
// for every fact, every field of a result, and every fixed value. A new one in the tables of the
// language is missing here until it has them.
func TestEverythingHasWords(t *testing.T) {
	t.Parallel()
	has := func(code string, blanks ...string) {
		if !phrases.Knows(phrases.Code(code)) {
			t.Errorf("there are no words for %s", code)
			return
		}
		var got []string
		for _, m := range blank.FindAllStringSubmatch(phrases.Say(phrases.English, phrases.Code(code)), -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		slices.Sort(blanks)
		if !slices.Equal(got, blanks) {
			t.Errorf("%s has the blanks %v, want %v", code, got, blanks)
		}
	}
	names := func(f sentence.Form) (out []string) {
		for _, b := range f.Blanks {
			out = append(out, b.Name)
		}
		return out
	}
	for _, f := range sentence.Sentences() {
		has("say."+f.Key, names(f)...)
		has("say."+f.Key+".not", names(f)...)
	}
	for _, f := range sentence.Values() {
		has("term."+f.Key, names(f)...)
	}
	for _, f := range vocabulary.Facts() {
		has("fact." + f.Name)
		for _, field := range f.Fields {
			has("fact." + f.Name + "." + field.Name)
			for _, v := range field.Values {
				if field.Name == "type" {
					has("event." + v)
				} else {
					has("fixed." + field.Name + "." + v)
				}
			}
		}
	}
	isFact := func(t *rules.Type) bool {
		return slices.ContainsFunc(rules.FactTypes(), func(f rules.Field) bool { return f.Type == t })
	}
	for _, s := range builtin.Catalog().Schemas() {
		result := s.Result
		if result != nil && result.Elem() != nil {
			result = result.Elem()
		}
		if result == nil || isFact(result) {
			continue
		}
		for _, f := range result.Fields() {
			has("result." + f.Name)
		}
	}
	for _, l := range []phrases.Language{phrases.English, phrases.Portuguese} {
		offers := sentence.Scope{}.Offers(l)
		for _, insert := range (sentence.Scope{}).Inserts(l) {
			offers = append(offers, sentence.Scope{}.Operators(l, insert.Term)...)
		}
		for _, o := range offers {
			for _, p := range o.Pieces {
				if strings.ContainsAny(p.Words, "⟦{") {
					t.Errorf("an offer reads %q", p.Words)
				}
			}
		}
	}
}

// TestOffers shows what can be chosen in a rule: of what starts it, and of the steps before.
func TestOffers(t *testing.T) {
	t.Parallel()
	scope := scopeOf(t, survey, "survey", map[string]any{"sales_phone": "+55"})
	said := func(list []sentence.Offer) (out []string) {
		for _, o := range list {
			var b strings.Builder
			for _, p := range o.Pieces {
				if p.Empty {
					b.WriteString("…")
				} else {
					b.WriteString(p.Words)
				}
			}
			out = append(out, b.String())
			if complete := !strings.Contains(b.String(), "…"); o.Condition.IsComplete() != complete {
				t.Errorf("%s is complete: %v", b.String(), !complete)
			}
		}
		return out
	}
	offers := said(scope.Offers(phrases.English))
	for _, want := range []string{"… is closed", "the customer has the label …", "the team has not answered", "nobody answered", "nobody of the team wrote in the last …"} {
		if !slices.Contains(offers, want) {
			t.Errorf("%q is not offered: %q", want, offers)
		}
	}
	if slices.Contains(offers, "the message says …") {
		t.Error("a message is offered, which a closed attendance does not come with")
	}
	inserts := map[string]string{}
	for _, i := range scope.Inserts(phrases.English) {
		if !i.ID {
			inserts[i.Words] = i.Type
		}
	}
	for words, typ := range map[string]string{
		"customer's name": "text", "protocol number": "text", "text of the answer": "text", "number in the text of the answer": "number", "score": "number", "sales phone": "text",
		"next opening of calendar": "time", "team's first answer": "time", "number found (waiting)": "number", "card's stage (found)": "text", "attendance's sector (each)": "text", "today's date": "text",
	} {
		if got, ok := inserts[words]; !ok || got != typ {
			t.Errorf("%q is %q, want %q", words, got, typ)
		}
	}
	if _, ok := inserts["message's text"]; ok {
		t.Error("a message can be inserted, which a closed attendance does not come with")
	}
	for x, want := range map[string][]string{
		"contact.labels": {"the customer has the label …", "the customer has one of the labels …", "the customer does not have the label …", "the customer has none of the labels …"},
		"messages":       {"for at least one of the collected messages: …", "for every one of the collected messages: …", "for none of the collected messages: …"},
		"card.due":       {"the card's due date is before …", "the card's due date is after …", "the card has a due date", "the card has no due date", "the card's due date was more than … ago", "the card's due date was less than … ago"},
		"contact":        {"the customer is known", "the customer is not known"},
	} {
		if diff := cmp.Diff(want, said(scope.Operators(phrases.English, sentence.ReadValue(x)))); diff != "" {
			t.Errorf("of %s:\n%s", x, diff)
		}
	}
	operators := said(scope.Operators(phrases.English, sentence.ReadValue("card.priority")))
	want := []string{"the card's priority is …", "the card's priority is not …", "the card's priority is one of …", "the card's priority is none of …", "the card's priority is known", "the card's priority is missing"}
	if diff := cmp.Diff(want, operators); diff != "" {
		t.Error(diff)
	}
}
