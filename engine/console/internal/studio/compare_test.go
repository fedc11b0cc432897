package studio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/form"
)

const comparedRule = `rules:
  - id: sla
    name: Escalate
    stage: live
    when: attendance.opened
    if:
      - conversation.kind == "direct"
      - closed("office")
    limit: { times: 1, per: 12h }
    cancel_on: [attendance.closed]
    do:
      - wait: 20m of office
      - add_labels: [late]
      - choose:
          - if: contact_has_label("vip")
            do:
              - transfer: Supervisors
          - else:
              - log: ordinary
      - send_message: "Olá, {{ contact.name }}, desculpe a demora."
`

// TestChanges shows that what was changed in a rule is said in words, as short as a bar has room.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, old, new string
		want           []string
		portuguese     []string
	}{
		{"nothing", "", "", nil, nil},
		{"a duration", "20m", "15m", []string{"step 1, 20 → 15 minutes"}, []string{"passo 1, 20 → 15 minutos"}},
		{"a label", "[late]", "[late, sla]", []string{"step 2, new: sla"}, nil},
		{"a text", "desculpe a demora", "já vamos", []string{"step 4, desculpe a demora → já vamos"}, nil},
		{"a way", `"vip"`, `"gold"`, []string{"step 3, vip → gold"}, nil},
		{"a step in a way", "transfer: Supervisors", "transfer: Sales", []string{"step 3.1, Supervisors → Sales"}, nil},
		{"a condition that goes", "      - closed(\"office\")\n", "", []string{"Only if, taken away: office is closed"}, []string{"Só se, tirado: office está fora do horário de atendimento"}},
		{"a bound", "times: 1", "times: 3", []string{"Bounds, 1 → 3 ×"}, nil},
		{"no bound", "    limit: { times: 1, per: 12h }\n", "", []string{"Bounds, taken away: At most 1 × in 12 hours"}, nil},
		{"a stage", "stage: live", "stage: shadow", []string{"Stage, live → shadow"}, []string{"Estágio, ativa → sombra"}},
		{"a name", "name: Escalate", "name: Escalate twice", []string{"Name of the rule, new: twice"}, nil},
		{"a new step", "      - add_labels: [late]\n", "      - add_labels: [late]\n      - wait: 1h\n", []string{"step 3, new: Wait 1 hour"}, nil},
		{"a step elsewhere", "      - wait: 20m of office\n      - add_labels: [late]\n", "      - add_labels: [late]\n      - wait: 20m of office\n", []string{"step 2, moved here: Wait 20 minutes of office hours"}, nil},
		{"another step", "add_labels: [late]", "mute: 1h", []string{"step 2, taken away: Add the label late", "step 2, new: Send nothing automatic for 1 hour"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after := strings.Replace(comparedRule, tt.old, tt.new, 1)
			for language, want := range map[string][]string{"en": tt.want, "pt": tt.portuguese} {
				if language == "pt" && want == nil {
					continue
				}
				m := maker(language, []byte(after))
				var got []string
				for _, c := range m.Changes(m.View(formOfText(t, comparedRule), nil), m.View(formOfText(t, after), nil)) {
					got = append(got, m.ChangeWords(c))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestChangedWordsAreMarked shows which words of a sentence went, and which came.
func TestChangedWordsAreMarked(t *testing.T) {
	t.Parallel()
	m := maker("en", nil)
	got := m.Changes(m.View(formOfText(t, comparedRule), nil), m.View(formOfText(t, strings.Replace(comparedRule, "20m of office", "15m of office", 1)), nil))
	want := []Change{{"step 1", Changed, []Span{{"", "Wait"}, {"-", " 20"}, {"+", " 15"}, {"", " minutes of office hours"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func formOfText(t *testing.T, text string) form.Form {
	t.Helper()
	f, err := form.Read(catalog, []byte(text), "sla")
	if err != nil {
		t.Fatal(err)
	}
	return f
}
