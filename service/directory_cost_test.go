package service

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processorTime returns what the process has spent so far.
func processorTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// A rule may look up a customer's text: has_label(message.text). That costs no more if the service
// has many labels, however long the text is.
func TestDirectoryOfLongNames(t *testing.T) {
	text := strings.Repeat("é ó ", 20<<10)
	cost := func(labels int) time.Duration {
		var list []string
		for i := range labels {
			list = append(list, fmt.Sprintf(`{"id":"l%d","name":"label %d"}`, i, i))
		}
		o := &office{lists: map[string]string{"/labels": listOf(list...)}}
		d := o.directory(t)
		if id, err := d.ID(t.Context(), KindLabel, "LABEL 3"); id != "l3" || err != nil {
			t.Fatal(id, err)
		}
		began := processorTime(t)
		_, err := d.ID(t.Context(), KindLabel, text)
		took := processorTime(t) - began
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%d labels: %.1100v", labels, err)
		}
		return took
	}
	few, many := cost(10), cost(1000)
	t.Logf("10 labels: %v, 1000 labels: %v", few, many)
	if many > 10*few+50*time.Millisecond {
		t.Errorf("looking for a text of %d bytes takes %v of processor time among 10 labels, and %v among 1000", len(text), few, many)
	}
}

// A step may be given many names by an event: add_labels: "{{ event.data.tags }}". Each costs a
// look through the list, and no more.
func TestDirectoryOfManyNames(t *testing.T) {
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf(`{"id":"l%d","name":"Etiqueta número %d"}`, i, i))
	}
	o := &office{lists: map[string]string{"/labels": listOf(list...)}}
	d := o.directory(t)
	look := func(name, id string, n int) time.Duration {
		began := processorTime(t)
		for range n {
			if got, err := d.ID(t.Context(), KindLabel, name); got != id || err != nil {
				t.Fatal(got, err)
			}
		}
		return processorTime(t) - began
	}
	look("Etiqueta número 1", "l1", 1)
	if took := look("etiqueta numero 999", "l999", 2000); took > time.Second {
		t.Errorf("to find 2000 names among 1000 took %v of processor time", took)
	}
}
