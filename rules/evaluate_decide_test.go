package rules_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
)

func TestConditions(t *testing.T) {
	tests := []struct {
		condition string
		want      bool
	}{
		{`conversation.kind == "direct"`, true},
		{`conversation.kind != "group" and contact.name == "Ana"`, true},
		{`conversation.assignee == nil`, true},
		{`conversation.assignee == "p1"`, false}, // nil is not equal, and no error either
		{`contact.company != "x"`, true},
		{`contact?.company == "x"`, false},
		{`(true ? contact.company : "y") == "x"`, false},
		{`let company = contact.company; company == "x"`, false},
		{`(contact.company ?? contact.company) == "x"`, false},
		{`attendance.first_response != nil`, false},
		{`now() - attendance.opened_at > duration("15m")`, true},
		{`event.age < duration("2m")`, true},
		{`event.data.priority > 2`, true},
		{`event.data.priority == 3`, true},
		{`event.data.missing == nil`, true},
		{`event.data?.missing?.deeper == nil`, true},
		{`event.data.nested.deep`, true},
		{`"a" in event.data.tags`, true},
		{`any(event.data.tags, # == "b")`, true},
		{`count(conversation.label_ids, # startsWith "l") == 2`, true},
		{`len(conversation.label_ids) == 2`, true},
		{`open("office")`, true},
		{`closed("office")`, false},
		{`next_close("office").Hour() == 18`, true},
		{`next_open("office").Weekday().String() == "Saturday"`, true},
		{`business_time("office", attendance.opened_at, now()) == duration("20m")`, true},
		{`day(now(), -1) == "2026-11-12"`, true},
		{`message.created_at.Hour() == now().Hour()`, true}, // the hour of the customer, not of the service
		{`event?.created_at.Hour() == now().Hour() and event.message?.created_at.Hour() == nil`, true},
		{`(attendance.first_response ?? attendance.opened_at).Hour() == now().Hour()`, true},
		{`attendance?.first_response == nil and (attendance?.opened_at ?? now()) < now()`, true},
		{`day(now()) == "2026-11-13"`, true},
		{`day(now(), -vars.tries) == "2026-11-10"`, true},
		{`says("boleto")`, true},
		{`says("BOLÉTO")`, true},
		{`says("segunda via")`, true},
		{`says("bolet")`, false},
		{`says("nada", "ola")`, true},
		{`says(vars.vips, ["nada", "via"])`, true},
		{`says(vars.vips)`, false},
		{`message.text matches "(?i)BOLETO"`, true},
		{`message.media_id matches "x"`, false},
		{`human_active("15m")`, false},
		{`not human_active("2h")`, true},
		{`muted()`, false},
		{`customer_waiting() > duration("4m")`, true},
		{`has_label("vip")`, true},
		{`has_label("other")`, false},
		{`count_events("message.received", "10m") >= 7`, true},
		{`vars.greeting == "Hello" and vars.tries == 3`, true},
		{`contact.name in vars.vips`, true},
		{`vars.nested.colour == "red"`, true},
		{`(contact.company ?? "none") == "none"`, true},
		{`lower(trim(" ANA ")) == "ana"`, true},
		{`"a" + "b" == "ab" and 1 + 2 == 3`, true},
		{`join(split("a,b", ","), "-") == "a-b"`, true},
		{`now().Year() == 2026`, true},
		{`let n = contact.name; n == "Ana" or n == "Bia"`, true},
		{`date("2026-11-13").Month().String() == "November"`, true},
	}
	for _, tt := range tests {
		t.Run(tt.condition, func(t *testing.T) {
			w := newWorld()
			w.labels, w.waiting, w.events = []string{"vip"}, 5*time.Minute, 7
			v := ruleIf(t, tt.condition).Decide(context.Background(), w)
			if v.Err != nil {
				t.Fatal(v.Err)
			}
			if got := v.Outcome == rules.Fired; got != tt.want {
				t.Errorf("%v, want %v (%v)", got, tt.want, v.Values)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name, condition string
		outcome         rules.Outcome
		values          []rules.NamedValue
		err             string
	}{
		{"a name", `conversation.kind == "group"`, rules.False, []rules.NamedValue{{"conversation.kind", "direct"}}, ""},
		{"a call", `closed("office")`, rules.False, []rules.NamedValue{{`closed("office")`, false}}, ""},
		{"names and calls", `has_label("vip") or contact.name == "Bia"`, rules.False, []rules.NamedValue{{`has_label("vip")`, false}, {"contact.name", "Ana"}}, ""},
		{"not asked again, and nothing more", `conversation.kind == "group" and has_label("vip")`, rules.False, []rules.NamedValue{{"conversation.kind", "direct"}}, ""},
		{"inside a call", `len(message.text) < 3`, rules.False, []rules.NamedValue{{"len(message.text)", 35}, {"message.text", "Olá, quero a segunda via do boleto!"}}, ""},
		{"lists are shown", `len(conversation.label_ids) > 5`, rules.False, []rules.NamedValue{{"len(conversation.label_ids)", 2}, {"conversation.label_ids", []any{"l1", "l2"}}}, ""},
		{"a missing value", `event.data.a.b == 1`, rules.Failed, nil, "cannot fetch b from nothing; use ?. where a value may be missing"},
		{"a wrong type", `event.data.channel > 3`, rules.Failed, []rules.NamedValue{{"event.data.channel", "web"}}, "a text > a number cannot be worked out"},
		{"not a condition", `event.data.channel`, rules.Failed, []rules.NamedValue{{"event.data.channel", "web"}}, "the condition gives a text, where true or false is needed"},
		{"nothing to compare", `contact.company > "a"`, rules.Failed, []rules.NamedValue{{"contact.company", nil}}, "nothing > a text cannot be worked out; use ?? to give another value where one is missing"},
		{"a field of a text", `(event.data.channel.name ?? "") == ""`, rules.Failed, nil, "event.data.channel is a text, and name is a field of an object"},
		{"a field of a list", `len(event.data?.tags?.people ?? []) > 0`, rules.Failed, nil, "event.data.tags is a list, and people is a field of an object; its items are event.data.tags[0] and so on, and for_each goes through event.data.tags itself"},
		{"a field of a number", `event.data.priority.value > 3`, rules.Failed, nil, "event.data.priority is a number, and value is a field of an object"},
		{"a text that is no number", `int(event.data.channel) > 3`, rules.Failed, []rules.NamedValue{{"event.data.channel", "web"}}, `"web" is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			r := ruleIf(t, tt.condition)
			v := r.Decide(context.Background(), w)
			if v.Outcome != tt.outcome || v.Clause != tt.condition || v.Rule != "r" {
				t.Errorf("%+v", v)
			}
			if diff := cmp.Diff(tt.values, v.Values); diff != "" && len(tt.values)+len(v.Values) > 0 {
				t.Errorf("values (-want +got)\n%s", diff)
			}
			if tt.err != "" && (v.Err == nil || !strings.Contains(v.Err.Error(), tt.err)) {
				t.Errorf("error %v, want %s", v.Err, tt.err)
			}
			if n := len(w.asked); n > 0 && w.asked[n-1] == "has_label" && slices.Index(w.asked, "has_label") != n-1 {
				t.Errorf("asked twice: %v", w.asked)
			}
		})
	}
}

// TestClausesInOrder shows that facts are asked for when the first clause that needs them is
// reached, and once.
func TestClausesInOrder(t *testing.T) {
	r := oneRule(t, `    if:
      - message.by == "customer"
      - conversation.kind == "group"
      - contact.name == "Ana"
    do: [mark_read]
`)
	w := newWorld()
	v := r.Decide(context.Background(), w)
	if v.Clause != `conversation.kind == "group"` {
		t.Errorf("stopped at %s", v.Clause)
	}
	if diff := cmp.Diff([]string{"message", "conversation"}, w.asked); diff != "" {
		t.Errorf("asked for (-want +got)\n%s", diff)
	}
}

func TestFactFails(t *testing.T) {
	down := errors.New("503")
	w := newWorld()
	w.fail = map[string]error{"conversation": down, "human_active": down}
	for _, condition := range []string{`conversation.kind == "direct"`, `human_active("5m")`} {
		v := ruleIf(t, condition).Decide(context.Background(), w)
		if v.Outcome != rules.Failed || !errors.Is(v.Err, down) {
			t.Errorf("%s: %v, %v", condition, v.Outcome, v.Err)
		}
	}
}

// TestAfterWait shows that a rule never decides on what was true before it slept.
func TestAfterWait(t *testing.T) {
	r := ruleIf(t, `attendance.status == "open" and has_label("vip")`)
	w := newWorld()
	w.labels = []string{"vip"}
	e := rules.NewEvaluation(context.Background(), r, w)
	if v := e.Decide(); v.Outcome != rules.Fired {
		t.Fatal(v)
	}
	w.facts["attendance"] = map[string]any{"status": "closed"}
	if v := e.Decide(); v.Outcome != rules.Fired {
		t.Error("the fact was fetched twice without a wait between")
	}
	e.Forget()
	if v := e.Decide(); v.Outcome != rules.False {
		t.Error("decided on the state before the wait")
	}
}

func TestGatheredSays(t *testing.T) {
	r := oneRule(t, "    gather: { quiet: 5s }\n    if: says(\"pix\") and len(messages) == 2\n    do: [mark_read]\n")
	w := newWorld()
	w.facts["messages"] = []any{map[string]any{"text": "aceita PIX?"}, map[string]any{"text": "oi"}}
	if v := r.Decide(context.Background(), w); v.Outcome != rules.Fired {
		t.Errorf("%+v", v)
	}
}

func TestRender(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", `Hello`, "Hello"},
		{"names", `Hello {{ contact.name }}, {{contact.phone}}!`, "Hello Ana, +5511988887777!"},
		{"nothing", `<{{ contact.company }}>`, "<>"},
		{"instead of nothing", `{{ contact.company ?? "you" }}!`, "you!"},
		{"a time", `We open {{ next_open('office') }}.`, "We open 2026-11-14 09:00."},
		{"a time of the service", `Opened {{ attendance.opened_at.Format("02/01 15:04") }}.`, "Opened 13/11 17:30."},
		{"a formatted time", `{{ next_open("office").Format("02/01 15h04") }}!`, "14/11 09h00!"},
		{"a duration", `{{ event.age }} ago`, "1 min ago"},
		{"numbers", `{{ vars.tries }} {{ 1 + 1 }} {{ 0.5 }}`, "3 2 0.5"},
		{"lists", `{{ vars.vips }}!`, "Ana, Bia!"},
		{"braces and quotes in an expression", `{{ {"a": {"b": "}}"}}.a.b }}!`, "}}!"},
		{"braces of one's own", `{{ "{{" }} x }}`, "{{ x }}"},
		{"over several lines", "Hello\n{{ contact.name }}\n", "Hello\nAna\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := renderText(t, newWorld(), tt.text)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestTimesForPeople shows how times are written in texts to customers, as seen from now.
func TestTimesForPeople(t *testing.T) {
	t.Parallel()
	const friday, desk, berlin = "2026-11-13T17:50:00-03:00", "America/Sao_Paulo", "Europe/Berlin"
	tests := []struct{ name, zone, now, at, weekday, day, until string }{
		{"later today", desk, friday, "2026-11-13T18:05:30-03:00", "sexta, 18:05", "hoje às 18:05", "em 16 min"},
		{"the same minute", desk, friday, "2026-11-13T17:50:01-03:00", "sexta, 17:50", "hoje às 17:50", "em 1 min"},
		{"now", desk, friday, friday, "sexta, 17:50", "hoje às 17:50", "agora"},
		{"midnight is tomorrow", desk, friday, "2026-11-14T00:00:00-03:00", "sábado, 0:00", "amanhã às 0:00", "em 6 h 10 min"},
		{"one o'clock", desk, friday, "2026-11-14T01:30:00-03:00", "sábado, 1:30", "amanhã à 1:30", "em 7 h 40 min"},
		{"whole hours", desk, friday, "2026-11-13T20:50:00-03:00", "sexta, 20:50", "hoje às 20:50", "em 3 h"},
		{"almost an hour", desk, friday, "2026-11-13T18:49:30-03:00", "sexta, 18:49", "hoje às 18:49", "em 1 h"},
		{"a day", desk, friday, "2026-11-14T17:50:00-03:00", "sábado, 17:50", "amanhã às 17:50", "em 1 dia"},
		{"on Monday", desk, friday, "2026-11-16T08:00:00-03:00", "segunda, 8:00", "segunda às 8:00", "em 2 dias e 15 h"},
		{"six days ahead", desk, friday, "2026-11-19T08:00:00-03:00", "quinta, 8:00", "quinta às 8:00", "em 5 dias e 15 h"},
		{"a week ahead", desk, friday, "2026-11-20T08:00:00-03:00", "sexta, 20/11, 8:00", "20/11 às 8:00", "em 6 dias e 15 h"},
		{"next year", desk, friday, "2027-01-04T08:00:00-03:00", "segunda, 04/01/2027, 8:00", "04/01/2027 às 8:00", "em 51 dias e 15 h"},
		{"yesterday", desk, friday, "2026-11-12T23:59:00-03:00", "quinta, 12/11, 23:59", "ontem às 23:59", "agora"},
		{"before yesterday", desk, friday, "2026-11-11T08:00:00-03:00", "quarta, 11/11, 8:00", "11/11 às 8:00", "agora"},
		{"the zone is the workspace's", desk, friday, "2026-11-14T02:30:00Z", "sexta, 23:30", "hoje às 23:30", "em 5 h 40 min"},
		{"a night with an hour less", berlin, "2026-03-28T12:00:00+01:00", "2026-03-29T12:00:00+02:00", "domingo, 12:00", "amanhã às 12:00", "em 23 h"},
		{"a night with an hour more", berlin, "2026-10-24T12:00:00+02:00", "2026-10-25T12:00:00+01:00", "domingo, 12:00", "amanhã às 12:00", "em 1 dia e 1 h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			if w.now, err = time.Parse(time.RFC3339, tt.now); err != nil {
				t.Fatal(err)
			}
			w.now = w.now.In(zone)
			text := strings.ReplaceAll("{{ weekday_time(T, 'pt') }}|{{ day_time(T, 'pt') }}|{{ time_until(T, 'pt') }}", "T", `date("`+tt.at+`")`)
			if got, want := renderText(t, w, text), tt.weekday+"|"+tt.day+"|"+tt.until; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	got := renderText(t, newWorld(), `{{ weekday_time(next_open("office"), "en") }}; {{ day_time(next_open("office"), "en") }}; {{ time_until(next_open("office"), "en") }}; {{ day_time(date("2026-12-24T10:00:00-03:00"), "en") }}; {{ time_until(now().AddDate(0, 0, 2), "en") }}`)
	if want := "Saturday, 9:00; tomorrow at 9:00; in 15 h 10 min; Dec 24 at 10:00; in 2 days"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRenderOnce shows that what a customer wrote is data, never an expression.
func TestRenderOnce(t *testing.T) {
	w := newWorld()
	hostile := `{{ contact.phone }} {{ env }} ' " }} <b>`
	w.facts["contact"] = map[string]any{"name": hostile, "phone": "secret"}
	if got := renderText(t, w, "Hi {{ contact.name }}"); got != "Hi "+hostile {
		t.Errorf("%q", got)
	}
}

// TestKeepsType shows that one whole expression keeps its type.
func TestKeepsType(t *testing.T) {
	r := oneRule(t, `    do:
      - update_conversation: { archived: "{{ conversation.kind == 'direct' }}" }
      - http_request: { url: "https://x", json: { n: "{{ vars.tries }}", list: "{{ vars.vips }}", code: "0123", text: "n={{ vars.tries }}" } }
`)
	e := rules.NewEvaluation(context.Background(), r, newWorld())
	got, err := e.Render(r.Do[0].Args["archived"])
	if got != true || err != nil {
		t.Errorf("archived: %#v, %v", got, err)
	}
	got, err = e.Render(r.Do[1].Args["json"])
	want := map[string]any{"n": 3.0, "list": []any{"Ana", "Bia"}, "code": "0123", "text": "n=3"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("json (-want +got)\n%s %v", diff, err)
	}
}

// TestAddress shows that what a customer wrote stays in the part of the address that it stands in.
func TestAddress(t *testing.T) {
	const hostile = "../admin/delete?all=1&x=%2e#end @evil.com\\"
	const escaped = "..%2Fadmin%2Fdelete%3Fall%3D1%26x%3D%252e%23end%20%40evil.com%5C"
	for in, want := range map[string]string{
		"https://x.com/orders/{{ message.text }}":                         "https://x.com/orders/" + escaped,
		"https://x.com/orders/{{ message.text }}/lines?of=1":              "https://x.com/orders/" + escaped + "/lines?of=1",
		"https://x.com/orders?of={{ message.text }}&all={{ vars.tries }}": "https://x.com/orders?of=" + escaped + "&all=3",
		"https://x.com/{{ vars.tries }}{{ message.text }}":                "https://x.com/3" + escaped,
		"https://x.com/a?{{ message.text }}=1#{{ message.text }}":         "https://x.com/a?" + escaped + "=1#" + escaped,
		"{{ vars.shop }}/{{ message.text }}":                              "https://shop.example.com:8443/" + escaped,
		"https://{{ vars.shop[8:] }}/{{ message.text }}":                  "https://shop.example.com:8443/" + escaped,
	} {
		r := oneRule(t, "    do:\n      - http_request: \""+in+"\"\n")
		world := newWorld()
		world.facts["message"] = map[string]any{"text": hostile}
		got, err := rules.NewEvaluation(context.Background(), r, world).Render(r.Do[0].Args["url"])
		if got != want || err != nil {
			t.Errorf("%s became %v, %v", in, got, err)
		}
	}
}

// TestHostileAddress shows that whatever a customer writes fills one segment of the path and one
// value of the query, or fails the step where a segment would lead elsewhere.
func TestHostileAddress(t *testing.T) {
	for _, text := range []string{
		"../admin", "/", "//evil.com", "?", "#", "&all=1", "=", ";", "..;", "%2e%2e", "%2F", "\\", "..\\admin", "...", ". .", "\n", "\r\nHost: evil", "\x00",
		"ação 日本 🙂", "\xff\xfe", ":8080@evil.com", "+", "a b", strings.Repeat("/..", 3000),
	} {
		got, err := renderAddress(t, "https://x.com/orders/{{ message.text }}/lines?of={{ message.text }}&n=1", text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		u, err := url.Parse(got)
		if err != nil || u.Host != "x.com" || u.Fragment != "" {
			t.Errorf("%q became %s, %v", text, got, err)
			continue
		}
		segments := strings.Split(u.EscapedPath(), "/")
		segment, _ := url.PathUnescape(segments[2])
		if len(segments) != 4 || segments[1] != "orders" || segments[3] != "lines" || segment != text {
			t.Errorf("%q: the path is %s", text, u.EscapedPath())
		}
		if diff := cmp.Diff(url.Values{"of": {text}, "n": {"1"}}, u.Query()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"", ".", ".."} {
		if got, err := renderAddress(t, "https://x.com/orders/{{ message.text }}", text); err == nil || !strings.Contains(err.Error(), "leads elsewhere") {
			t.Errorf("%q became %s, %v", text, got, err)
		}
		if _, err := renderAddress(t, "https://x.com/orders/a{{ message.text }}/{{ message.text + 'b' }}?of={{ message.text }}", text); err != nil {
			t.Errorf("%q beside other text: %v", text, err)
		}
	}
}

func renderAddress(t *testing.T, address, text string) (string, error) {
	t.Helper()
	r := oneRule(t, "    do:\n      - http_request: \""+address+"\"\n")
	w := newWorld()
	w.facts["message"] = map[string]any{"text": text}
	got, err := rules.NewEvaluation(context.Background(), r, w).Render(r.Do[0].Args["url"])
	s, _ := got.(string)
	return s, err
}

// TestTextsStayTexts shows that what looks like a number keeps its spelling.
func TestTextsStayTexts(t *testing.T) {
	for in, want := range map[string]string{"0123": "0123", "1.10": "1.10", "yes": "yes", "2026-12-24": "2026-12-24", "+55": "+55", "0x10": "0x10", "true": "true"} {
		r := oneRule(t, "    do:\n      - send_message: "+in+"\n")
		got, err := rules.NewEvaluation(context.Background(), r, newWorld()).Render(r.Do[0].Args["text"])
		if got != want || err != nil {
			t.Errorf("%s became %#v, %v", in, got, err)
		}
	}
}

// TestRenderSaysWhichExpression shows that a text with several expressions names the one that
// failed.
func TestRenderSaysWhichExpression(t *testing.T) {
	r := oneRule(t, "    do:\n      - send_message: \"{{ contact.name }}: {{ event.data.none / 60 }}\"\n")
	_, err := rules.NewEvaluation(context.Background(), r, newWorld()).Render(r.Do[0].Args["text"])
	const want = "{{ event.data.none / 60 }}: nothing / a number cannot be worked out; use ?? to give another value where one is missing"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func renderText(t *testing.T, w *world, text string) string {
	t.Helper()
	r := oneRule(t, "    do:\n      - send_message: "+quoteYAML(text)+"\n")
	got, err := rules.NewEvaluation(context.Background(), r, w).Render(r.Do[0].Args["text"])
	if err != nil {
		t.Fatal(err)
	}
	return got.(string)
}

func quoteYAML(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
