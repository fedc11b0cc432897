package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// stepCounting is a journal that counts the steps that it loads for visits.
type stepCounting struct {
	fileJournal
	steps int
}

func (j *stepCounting) Claim(ctx context.Context, now time.Time, n int, except []string) ([]*journal.Lane, error) {
	lanes, err := j.fileJournal.Claim(ctx, now, n, except)
	for _, l := range lanes {
		for _, r := range l.Runs {
			j.steps += len(r.Steps)
		}
	}
	return lanes, err
}

// TestLongLoop shows that a wait inside of a loop costs the same at each item, however many are
// finished: a visit loads only the steps that still matter.
func TestLongLoop(t *testing.T) {
	read := func(items int) int {
		counted := &stepCounting{}
		d := newDesk(t, fmt.Sprintf(`
rules:
  - id: it
    when: message.received
    do:
      - set: { total: "{{ 0 }}" }
      - for_each:
          in: '[%s]'
          max: 1000
          as: n
          do:
            - set: { total: "{{ total + n }}" }
            - choose: [{ if: n == 2, do: [{ log: second }] }]
            - wait: 1m
      - send_message: "{{ total }}"
`, strings.TrimSuffix(strings.Repeat("1, ", items), ", ")), func(o *deskOptions) {
			o.journal = func(j fileJournal) journal.Journal {
				counted.fileJournal = j
				return counted
			}
		})
		d.customer(ana, "hello")
		d.pass(time.Duration(items+1) * time.Minute)
		d.expect(send + fmt.Sprint(items))
		if steps := len(d.runs("it")[0].Steps); steps != 3+3*items {
			t.Errorf("%d steps are recorded of %d items", steps, items)
		}
		return counted.steps
	}
	few, many := read(20), read(200)
	t.Logf("%d steps are read for 20 items, and %d for 200", few, many)
	if many > 15*few {
		t.Errorf("%d steps are read for 20 items, and %d for 200", few, many)
	}
}

// TestCostOfALongLoop shows that a loop of four times as many items costs about four times as much.
// It counts allocations: unlike time, they are the same on a busy machine.
func TestCostOfALongLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	cost := func(items int) uint64 {
		d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - for_each: { in: 'split(message.text, ",")', max: 10000, as: n, do: [{ log: "{{ n }}" }, { wait: 1m }] }
`)
		d.customer(ana, strings.Repeat("1,", items-1)+"1")
		began := allocated()
		d.pass(time.Duration(items+1) * time.Minute)
		d.wantStates("it", journal.Done)
		return allocated() - began
	}
	small, large := cost(300), cost(1200)
	t.Logf("300 items: %d KiB, 1200 items: %d KiB", small>>10, large>>10)
	if large > 8*small {
		t.Errorf("300 items allocate %d KiB, and 1200 allocate %d KiB", small>>10, large>>10)
	}
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// TestLoopIsRemembered shows that the steps behind a loop, and those of its later items, see the
// same of its earlier items, whether the engine has it in memory or restores it.
func TestLoopIsRemembered(t *testing.T) {
	const rule = `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - set: { total: "{{ 0 }}", last_even: none, heard: nothing }
      - for_each:
          in: "[1, 2, 3, 4, 5]"
          as: n
          do:
            - set: { total: "{{ total + n }}" }
            - if: n % 2 == 0
              set: { even: "{{ n }}" }
            - choose:
                - if: n == 2
                  do: [{ set: { last_even: "{{ n }}" } }, { wait: 1m }]
                - if: n == 3
                  do:
                    - { wait_for: { event: message.received, timeout: 10m }, id: answer }
                    - set: { heard: "{{ answer == nil ? 'nothing' : answer.message.text }}" }
            - for_each:
                in: "[10, 20]"
                as: m
                do:
                  - set: { total: "{{ total + m }}" }
                  - wait: 1m
                  - send_message: "{{ n }} {{ m }} {{ total }} {{ last_even }} {{ heard }}"
            - wait: 1m
      - send_message: "{{ total }} {{ last_even }} {{ heard }}"
`
	var want []string
	total, even, heard := 0, "none", "nothing"
	for n := 1; n <= 5; n++ {
		if total += n; n == 2 {
			even = "2"
		}
		if n == 3 {
			heard = "yes"
		}
		for m := 10; m <= 20; m += 10 {
			total += m
			want = append(want, send+fmt.Sprintf("%d %d %d %s %s", n, m, total, even, heard))
		}
	}
	want = append(want, send+fmt.Sprintf("%d %s %s", total, even, heard))
	for name, every := range map[string]int{"in one go": 0, "after a stop at every minute": 1, "after a stop at every third": 3} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, rule)
			d.customer(ana, "go")
			for i := range 40 {
				d.pass(time.Minute)
				if every > 0 && i%every == 0 {
					d.restart()
				}
				if i == 8 {
					d.customer(ana, "yes")
				}
			}
			d.expect(want...)
			d.wantStates("it", journal.Done)
		})
	}
}

const loops = `set: { total: "{{ 0 }}" }
      - for_each:
          in: "[1, 2, 3]"
          as: n
          do:
            - set: { total: "{{ total + n }}" }
            - { send_message: "ask {{ n }}", id: sent }
            - for_each:
                in: "[1, 2]"
                as: m
                do: [{ wait: 2m }, { send_message: "{{ n }} {{ m }} {{ total }} {{ sent.text }}" }]
            - { wait_for: { event: attendance.closed, timeout: 2m }, id: answer }
      - send_message: "{{ total }}"`

// TestDeathInLoops shows that a run with waits in nested loops ends the same wherever the process
// dies.
func TestDeathInLoops(t *testing.T) {
	whole := runStep(t, loops, 0)
	if whole.state != journal.Done || len(whole.effects) != 10 {
		t.Fatal(whole.state, whole.effects)
	}
	for n := 3; n <= len(whole.points); n += *stride {
		t.Run(whole.points[n-1], func(t *testing.T) {
			t.Parallel()
			got := runStep(t, loops, n)
			if !slices.Equal(got.effects, whole.effects) || got.state != whole.state || !slices.Equal(got.steps, whole.steps) {
				t.Errorf("dead at point %d, %s:\n got %s\nwant %s\n %v %v", n, whole.points[n-1], strings.Join(got.effects, "\n"), strings.Join(whole.effects, "\n"), got.state, got.steps)
			}
		})
	}
}

// TestRetryInALoop shows that a step that failed in the middle of a loop can be retried, after the
// on_error steps were taken.
func TestRetryInALoop(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - for_each: { in: "[1, 2, 3, 4]", as: n, do: [{ wait: 1m }, { send_message: "{{ n }}" }] }
    on_error: [{ wait: 1m }, { log: "{{ error }}" }]
`)
	d.customer(ana, "hello")
	d.pass(2*time.Minute + 30*time.Second)
	d.expect(send+"1", send+"2")
	d.fault("POST /conversations/{id}/messages", "status_before", 400, 1)
	d.pass(10 * time.Minute)
	d.wantStates("it", journal.FailedRun)
	d.restart()
	d.ask("it", journal.AskRetry)
	d.pass(10 * time.Minute)
	d.expect(send+"3", send+"4")
	d.wantStates("it", journal.Done)
}

// TestShadowOfALoop shows that a shadow run does not fail for lack of what it only pretended to do
// for an item, however many items are behind that.
func TestShadowOfALoop(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    stage: shadow
    when: message.received
    do:
      - for_each:
          in: "[1, 2, 3, 4]"
          as: n
          do: [{ if: n == 1, create_card: { board: Nowhere, title: x }, on_error: continue }, { if: n == 2, send_message: x }, { wait: 1m }]
      - move_card: { card: nothing, to: Nowhere }
`)
	d.customer(ana, "hello")
	d.pass(10 * time.Minute)
	d.expect()
	d.wantStates("it", journal.Done)
}

// TestLoopOverNoList shows that a for_each over what is no list says what it is instead, and where.
func TestLoopOverNoList(t *testing.T) {
	for answer, want := range map[string]struct{ in, why string }{
		`"closed today"`:    {"today.json", "for_each: today.json gives a text, and a list is needed"},
		`{"people": "Ana"}`: {"today.json.people ?? []", "for_each: today.json.people ?? [] gives a text, and a list is needed"},
		`{"people": {}}`:    {"today.json.people", "for_each: today.json.people gives an object, and a list is needed"},
		`["Ana"]`:           {"today.json.people ?? []", "today.json is a list, and people is a field of an object; its items are today.json[0] and so on, and for_each goes through today.json itself"},
		`"nobody"`:          {"today.json?.people ?? []", "today.json is a text, and people is a field of an object"},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		}))
		d := newDesk(t, fmt.Sprintf(`
rules:
  - id: it
    when: message.received
    do:
      - { http_request: { method: GET, url: "%s/birthdays" }, id: today }
      - for_each: { in: %q, do: [{ log: "{{ item }}" }] }
`, other.URL, want.in), (&outside{Server: other}).allow)
		d.customer(ana, "hello")
		d.pass(time.Minute)
		other.Close()
		if r := d.runs("it")[0]; !strings.HasSuffix(r.Reason, want.why) {
			t.Errorf("%s in %s: %s %q, want %q", want.in, answer, r.State, r.Reason, want.why)
		}
	}
}
