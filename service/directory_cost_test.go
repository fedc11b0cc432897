package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules/costtest"
)

// A rule may look up a customer's text: has_label(message.text). That costs no more if the service
// has many labels, however long the text is.
func TestDirectoryOfLongNames(t *testing.T) {
	text := strings.Repeat("é ó ", 20<<10)
	cost := func(labels int) uint64 {
		var list []string
		for i := range labels {
			list = append(list, fmt.Sprintf(`{"id":"l%d","name":"label %d"}`, i, i))
		}
		o := &office{lists: map[string]string{"/labels": listOf(list...)}}
		d := o.directory(t)
		if id, err := d.ID(t.Context(), KindLabel, "LABEL 3"); id != "l3" || err != nil {
			t.Fatal(id, err)
		}
		return costtest.Bytes(func() {
			if _, err := d.ID(t.Context(), KindLabel, text); err == nil || len(err.Error()) > 1000 {
				t.Errorf("%d labels: %.1100v", labels, err)
			}
		})
	}
	few, many := cost(10), cost(1000)
	t.Logf("10 labels: %d bytes, 1000 labels: %d", few, many)
	if many > 2*few {
		t.Errorf("looking for a text of %d bytes allocates %d bytes among 10 labels, and %d among 1000", len(text), few, many)
	}
}

// A step may be given many names by an event: add_labels: "{{ event.data.tags }}". Each costs a
// look through the list, and no more: the names in the list are folded when it is fetched.
func TestDirectoryOfManyNames(t *testing.T) {
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf(`{"id":"l%d","name":"Etiqueta número %d"}`, i, i))
	}
	o := &office{lists: map[string]string{"/labels": listOf(list...)}}
	d := o.directory(t)
	look := func(name, id string) {
		if got, err := d.ID(t.Context(), KindLabel, name); got != id || err != nil {
			t.Fatal(got, err)
		}
	}
	look("Etiqueta número 1", "l1")
	if n := testing.AllocsPerRun(20, func() { look("etiqueta numero 999", "l999") }); n > 100 {
		t.Errorf("to find a name among 1000 takes %.0f allocations", n)
	}
}
