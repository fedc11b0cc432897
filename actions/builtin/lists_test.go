package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// TestLists shows that a list keeps at most max items, each as the fact that a rule would see, and
// counts all, although the list shifts while it is read.
func TestLists(t *testing.T) {
	d := newDesk(t)
	for i := range 230 {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", i), Name: fmt.Sprint("Customer ", i), Text: "hello"}))
	}
	for each, name := range map[string]string{"attendances": "attendance", "conversations": "conversation", "contacts": "contact", "cards": "card"} {
		there := len(d.items(each, nil))
		for _, c := range []struct {
			args m
			kept int
		}{{nil, there}, {m{"max": 7}, 7}, {m{"max": 150.0}, 150}} {
			pages := 0
			d.faults.see(func(r *http.Request) {
				if pages++; pages == 2 {
					must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", 3), Text: "still there?"}))
				}
			})
			r, err := d.drive("list_"+each, d.step(c.args)).run()
			d.faults.see(nil)
			if err != nil {
				t.Fatal(each, err)
			}
			got := r.Value.(m)
			items := got["items"].([]any)
			if got["total"] != float64(there) || len(items) != c.kept {
				t.Errorf("%s %v: %v in all, want %d, and %d items", each, c.args, got["total"], there, len(items))
			}
			seen := map[any]bool{}
			for _, item := range items {
				if id := item.(m)["id"]; seen[id] {
					t.Errorf("%s: %v came twice", each, id)
				} else {
					seen[id] = true
				}
				fits(t, name, factTypes[name], item)
			}
		}
	}
}

// TestListFilters shows that the arguments filter, that names are known, and that a filter or a max
// that cannot be meant is refused.
func TestListFilters(t *testing.T) {
	d := newDesk(t)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}))
	r, err := d.drive("list_attendances", d.step(m{"status": "open", "sector": "Sales"})).run()
	if err != nil {
		t.Fatal(err)
	}
	item := r.Value.(m)["items"].([]any)[0].(m)
	if diff := cmp.Diff([]any{1.0, d.attendance, "Sales", "Bruno"}, []any{r.Value.(m)["total"], item["id"], item["sector_name"], item["assignee_name"]}); diff != "" {
		t.Error(diff)
	}
	r, err = d.drive("list_attendances", d.step(m{"sector": "Support"})).run()
	if diff := cmp.Diff(m{"items": []any{}, "total": 0.0}, r.Value); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for want, args := range map[string]m{
		"sector is empty": {"sector": nil}, "no sector named": {"sector": "Suport"}, "max must be from 1 to 10000, not 0": {"max": 0},
		"max must be from 1 to 10000, not 10001": {"max": 10001.0}, "max must be a whole number": {"max": 1.5},
	} {
		if _, err := d.drive("list_attendances", d.step(args)).run(); !actions.IsPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// TestListsThatAreTooLarge shows that a list without an end, and one of huge objects, fail with
// what to do.
func TestListsThatAreTooLarge(t *testing.T) {
	for want, name := range map[string]string{
		"there are more than 20000 contacts: list fewer with its filters": "x",
		"contacts are larger than 8 MiB: give a smaller max":              strings.Repeat("x", 50<<10),
	} {
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var page []m
			for range 100 {
				n++
				page = append(page, m{"id": fmt.Sprint(n), "name": name, "phone": "1"})
			}
			_ = json.NewEncoder(w).Encode(page)
		}))
		t.Cleanup(server.Close)
		verbs := must(builtin.New(builtin.Options{Client: must(service.New(service.Options{BaseURL: server.URL, APIKey: "key"}))}))
		list := must(actions.NewRegistry(verbs...)).Action("list_contacts")
		if _, err := list.Plan(t.Context(), &actions.Step{Args: m{}}); !actions.IsPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if n > 21_000 {
			t.Errorf("%d items were read", n)
		}
	}
}
