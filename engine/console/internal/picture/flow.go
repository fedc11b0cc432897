package picture

import (
	"html/template"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
)

// The measures of a picture of steps.
const (
	boxWidth, boxHeight = 250.0, 46.0
	boxGap, columnGap   = 20.0, 18.0
)

// A block is a part of a picture of steps that knows its size, and draws itself at a position.
type block struct {
	w, h float64
	draw func(s *svg, x, y float64)
}

// Flow draws the steps of a rule: one below the other, the ways of a choose side by side.
func Flow(w words.Language, r *rules.Rule) template.HTML {
	var blocks []block
	blocks = append(blocks, box("trigger", w.T("rule.when"), w.Trigger(r)))
	for _, x := range r.If {
		blocks = append(blocks, box("condition", w.T("rule.if"), words.ConditionText(x)))
	}
	blocks = append(blocks, stepBlocks(w, r.Do)...)
	all := stack(blocks)
	if len(r.OnError) > 0 {
		all = beside(all, stack(append([]block{box("failed", w.T("rule.on_error"), "")}, stepBlocks(w, r.OnError)...)))
	}
	var s svg
	all.draw(&s, 1, 1)
	return s.picture(all.w+2, all.h+2, "flow", w.T("rule.picture"), true)
}

func stepBlocks(w words.Language, steps []*rules.Step) (list []block) {
	for _, s := range steps {
		list = append(list, stepBlock(w, s))
	}
	return list
}

func stepBlock(w words.Language, step *rules.Step) block {
	name := step.Path + "  " + w.Or("verb.", step.Verb)
	switch step.Verb {
	case "choose":
		return chooseBlock(w, step, name)
	case "for_each":
		inner := stack(append([]block{box("choice", name, step.As+" in "+words.ConditionText(step.In))}, stepBlocks(w, step.Do)...))
		return frame(inner)
	}
	class := "action"
	if step.Schema != nil && len(step.Schema.Emits) == 0 {
		class = "inner"
	}
	return box(class, name, words.StepDetail(step))
}

func chooseBlock(w words.Language, step *rules.Step, name string) block {
	var ways []block
	for _, b := range step.Branches {
		label, text := w.T("rule.if"), ""
		if b.If != nil {
			text = words.ConditionText(b.If)
		} else {
			label = w.T("rule.else")
		}
		ways = append(ways, stack(append([]block{box("condition", label, text)}, stepBlocks(w, b.Do)...)))
	}
	row := ways[0]
	for _, way := range ways[1:] {
		row = beside(row, way)
	}
	head := box("choice", name, "")
	return block{max(head.w, row.w), head.h + boxGap + row.h, func(s *svg, x, y float64) {
		head.draw(s, x, y)
		// From the head a line goes to each way.
		bus, at := y+head.h+boxGap/2, x
		s.line(x+boxWidth/2, y+head.h, x+boxWidth/2, bus, "wire")
		for i, way := range ways {
			s.line(at+boxWidth/2, bus, at+boxWidth/2, y+head.h+boxGap, "wire")
			if i > 0 {
				s.line(x+boxWidth/2, bus, at+boxWidth/2, bus, "wire")
			}
			at += way.w + columnGap
		}
		row.draw(s, x, y+head.h+boxGap)
	}}
}

// box is one step.
func box(class, title, detail string) block {
	return block{boxWidth, boxHeight, func(s *svg, x, y float64) {
		s.box(x, y, boxWidth, boxHeight, "step "+class)
		if detail == "" {
			s.text(x+12, y+28, "start", "title", title, 32)
			return
		}
		s.text(x+12, y+19, "start", "title", title, 32)
		s.text(x+12, y+36, "start", "detail", detail, 38)
	}}
}

// stack stacks blocks, with a line between them.
func stack(list []block) block {
	all := block{}
	for i, b := range list {
		all.w = max(all.w, b.w)
		all.h += b.h
		if i > 0 {
			all.h += boxGap
		}
	}
	all.draw = func(s *svg, x, y float64) {
		for i, b := range list {
			if i > 0 {
				s.line(x+boxWidth/2, y-boxGap, x+boxWidth/2, y, "wire")
			}
			b.draw(s, x, y)
			y += b.h + boxGap
		}
	}
	return all
}

func beside(a, b block) block {
	return block{a.w + columnGap + b.w, max(a.h, b.h), func(s *svg, x, y float64) {
		a.draw(s, x, y)
		b.draw(s, x+a.w+columnGap, y)
	}}
}

// frame draws a border around what is done several times. Its left edge stays where the line of
// steps is.
func frame(inner block) block {
	const room = 8.0
	return block{inner.w + room, inner.h + 2*room, func(s *svg, x, y float64) {
		s.box(x-room/8, y, inner.w+room, inner.h+2*room, "frame")
		inner.draw(s, x+room/2-room/8, y+room)
	}}
}
