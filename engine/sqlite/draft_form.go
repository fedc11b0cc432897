package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/stored"
	"github.com/quandohq/quando/rules"
)

// A coder writes drafts into bytes, or reads them: what it is shown is written, or set. So there is one order of things, and not two that must be the same.
type coder struct {
	bytes   []byte
	reading bool
	broken  bool
}

// draftFormat is the first byte of a draft, so that another program knows another form when it sees it.
const draftFormat = 1

func (c *coder) number(n *int64) {
	if !c.reading {
		c.bytes = binary.AppendVarint(c.bytes, *n)
		return
	}
	read, size := binary.Varint(c.bytes)
	if size <= 0 {
		c.fail()
		return
	}
	*n, c.bytes = read, c.bytes[size:]
}

func (c *coder) fail() { c.bytes, c.broken = nil, true }

func (c *coder) failed() error {
	if c.broken {
		return errors.New("runs that were under way cannot be read: put back a backup (quando journal restore)")
	}
	return nil
}

// count writes or reads how many bytes or things follow, each of which takes a byte at least.
func (c *coder) count(n int) int {
	long := int64(n)
	c.number(&long)
	if long < 0 || c.reading && long > int64(len(c.bytes)) {
		c.fail()
		return 0
	}
	return int(long)
}

func (c *coder) text(s *string) { coded(c, s) }

func coded[T ~string](c *coder, s *T) {
	n := c.count(len(*s))
	if !c.reading {
		c.bytes = append(c.bytes, *s...)
		return
	}
	*s, c.bytes = T(c.bytes[:n]), c.bytes[n:]
}

func (c *coder) texts(list ...*string) {
	for _, s := range list {
		c.text(s)
	}
}

// maybe is for what may be missing.
func (c *coder) maybe(s **string) {
	there := int64(0)
	if *s != nil {
		there = 1
	}
	if c.number(&there); there == 0 {
		return
	}
	if c.reading {
		*s = new(string)
	}
	c.text(*s)
}

func (c *coder) moment(t *time.Time) {
	micros := stored.Micros(*t)
	c.number(&micros)
	*t = stored.Moment(micros)
}

func (c *coder) draft(d *draft) {
	format := int64(draftFormat)
	if c.number(&format); format != draftFormat {
		c.fail()
		return
	}
	r := &d.run
	c.number(&r.ID)
	c.number(&r.Event)
	c.texts(&r.Key, &r.Workspace, &r.Rule, &r.Version, &r.Home, &r.Lane, &r.By, &r.Reason, &d.texts.About)
	coded[engine.State](c, &r.State)
	coded[rules.Stage](c, &r.Stage)
	c.maybe(&d.texts.Gathered)
	c.maybe(&d.texts.Ancestry)
	c.moment(&r.StartedAt)
	c.moment(&r.WakeAt)
	n := c.count(len(d.steps))
	if c.reading {
		d.steps = make([]engine.Step, n)
	}
	for i := range d.steps {
		c.step(&d.steps[i])
	}
}

func (c *coder) step(s *engine.Step) {
	n, attempts := int64(s.N), int64(s.Attempts)
	c.number(&n)
	c.number(&attempts)
	s.N, s.Attempts = int(n), int(attempts)
	c.texts(&s.Path, &s.Verb, &s.Key, &s.Error)
	coded[engine.StepState](c, &s.State)
	record := (*string)(nil)
	if s.Record != nil {
		text := string(s.Record)
		record = &text
	}
	if c.maybe(&record); c.reading && record != nil {
		s.Record = json.RawMessage(*record)
	}
}
