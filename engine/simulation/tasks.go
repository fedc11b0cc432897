package simulation

import "iter"

// A task is a concurrent activity: an engine's worker, a delivery. One task runs at a time, and
// yields only where the scenario says so.
type task struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool
}

// run runs tasks to their end, in order. When one yields the next continues.
func (w *world) run(bodies ...func()) {
	for _, body := range bodies {
		t := &task{}
		t.next, _ = iter.Pull(func(yield func(struct{}) bool) {
			t.yield = yield
			body()
		})
		w.tasks = append(w.tasks, t)
	}
	for i := 0; len(w.tasks) > 0; {
		i %= len(w.tasks)
		w.current = w.tasks[i]
		if _, more := w.current.next(); more {
			i++
			continue
		}
		w.tasks = append(w.tasks[:i], w.tasks[i+1:]...)
	}
	w.current = nil
}

// giveWay yields to another task.
func (w *world) giveWay() {
	if w.current == nil || len(w.tasks) < 2 {
		return
	}
	me := w.current
	me.yield(struct{}{})
	w.current = me
}
