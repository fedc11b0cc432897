package planted

// Bugs that made-up desks find, and the tests of the examples need not. The first seven are those
// that users met.
var bySimulation = []Bug{
	{Name: "what was written before the question is its answer", Edits: []Edit{
		{"engine/question.go", `	return after.isBefore(at, e.Seq) && !(`, `	return after.isBefore(at.Add(time.Minute), e.Seq) && !(`},
	}},
	{Name: "what is stopped is not looked at in the commit of an intent", Edits: []Edit{
		{"engine/journal/ledger/save.go", `s.change.Call, s.change.At); h != nil {`, `s.change.Call, s.change.At); h != nil && h.Kind != journal.HoldPerson {`},
	}},
	{Name: "expressions are compiled without a lock", Edits: []Edit{
		{"rules/expr.go", `	exprLock.Lock()
	defer exprLock.Unlock()
	_, err := checker`, `	_, err := checker`},
		{"rules/expr.go", `	exprLock.Lock()
	defer exprLock.Unlock()
	return bytecode`, `	return bytecode`},
	}, Unseen: "a data race, and one goroutine plays a desk", Finder: [2]string{"./rules", "TestExplainAtOnce"}, Flags: []string{"-race", "-short"}},
	{Name: "only the first try of a call is announced", Edits: []Edit{
		{"engine/act.go", `	if rec.Intent.Elsewhere {
		k.addMarks(`, `	if rec.Intent.Elsewhere && taken.Attempts < 2 {
		k.addMarks(`},
	}},
	{Name: "the mark of a call that has failed for good stays", Edits: []Edit{
		{"engine/act.go", `	if !rec.Doubt {
		k.removeMarks(k.run, taken, rec) // it had no effect; a repeat adds the marks again
	}
`, ``},
		{"engine/fail.go", `	k.endCall(k.run, taken, rec)
`, ``},
	}},
	{Name: "a fault of the service never ends", Edits: []Edit{
		{"engine/ruletest/to_service.go", `reads && n.searched(r.URL.Path) || !n.first(`, `!n.first(`},
		{"engine/ruletest/to_service.go", `	n.struck = n.struck || first
`, ``},
	}, Unseen: "it is in the faults of quando test, which made-up desks do not use", Finder: [2]string{"./engine/ruletest", "TestFaultsEnd"}},
	{Name: "waits that ended while no engine was there go on at once", Edits: []Edit{
		{"engine/absence.go", `	if list == nil || s.Verb`, `	if list != nil || s.Verb`},
	}},

	{Name: "a mark stays when the answer has come", Edits: []Edit{
		{"engine/act.go", `	k.removeMarks(k.run, taken, rec)
	k.change.Caused = slices.Grow(`, `	k.change.Caused = slices.Grow(`},
	}},
	{Name: "what is stopped is read a second late", Edits: []Edit{
		{"engine/journal/held.go", `h.Covers(r.Workspace, r.Rule, r.Lane) && (h.Kind`, `h.Covers(r.Workspace, r.Rule, r.Lane) && (h.Kind != HoldPerson || at.Sub(h.Since) > time.Second) && (h.Kind`},
	}},
	{Name: "a limit is counted per engine", Edits: []Edit{
		{"engine/decide.go", `fmt.Sprintf("limit/%s/%s/%s", rule.ID, run.Stage, p.limitBy)`, `fmt.Sprintf("limit/%s/%s/%s/%p", rule.ID, run.Stage, p.limitBy, v.engine)`},
	}},
	{Name: "a wait is resumed twice after a copy", Edits: []Edit{
		// What came to its end is left behind, and with it what was done behind a wait.
		{"engine/journal/stored/copy.go", `		rows, err := from.Rows(ctx, t, after, copySize)
		if err != nil {
			return err
		}
`, `		rows, err := from.Rows(ctx, t, after, copySize)
		if err != nil {
			return err
		}
		if t.Name == "steps" {
			rows = slices.DeleteFunc(rows, func(row []any) bool { return row[5] != "open" && row[5] != "waiting" && row[5] != "uncertain" })
		}
`},
		{"engine/journal/stored/copy.go", `		if got != want {
`, `		if got != want && t.Name != "steps" {
`},
	}},
	{Name: "a lane that was claimed before a reload is never given back", Edits: []Edit{
		{"engine/visit.go", `	v.planNext()
	return v.save(ctx, true)
}

// stopped`, `	v.planNext()
	if v.workspace.rules.Load() != v.set {
		return nil
	}
	return v.save(ctx, true)
}

// stopped`},
		{"engine/visit.go", `	stopping func() bool `, `	set      *rules.Set
	stopping func() bool `},
		{"engine/visit.go", `	v.since = v.traceTime()`, `	if v.workspace != nil {
		v.set = v.workspace.rules.Load()
	}
	v.since = v.traceTime()`},
	}},

	{Name: "runs go on with the rules of today", Edits: []Edit{
		{"engine/version.go", `rule != nil && rule.Version == r.Version {`, `rule != nil {`},
	}},
	{Name: "a run that is replaced goes on", Edits: []Edit{
		{"engine/journal/ledger/run.go", `		l.askRun(s.at, id, journal.AskCancel.Because(journal.Replaced, s.change.At))
`, ``},
	}},
	{Name: "a queued run is never begun", Edits: []Edit{
		{"engine/journal/ledger/run.go", `	if len(ids) == 0 || l.runs[ids[0]].State != journal.Queued {
`, `	if len(ids) == 0 || l.runs[ids[0]].State == journal.Queued {
`},
	}},
	{Name: "a gather leaves out its last event", Edits: []Edit{
		{"engine/gather.go", `	f.gathered, f.rule = events, g.Rule
`, `	f.gathered, f.rule = events[:max(1, len(events)-1)], g.Rule
`},
	}},
	{Name: "cancel_on ends no run that waits", Edits: []Edit{
		{"engine/hear.go", `		if m.Event != e.Type {
			continue
`, `		if m.Event != e.Type || r.State == journal.Waiting {
			continue
`},
	}},
	{Name: "late is not looked at for schedules", Edits: []Edit{
		{"engine/judge.go", `	if len(e.Data) > 0 {
		return nil, nil // an item`, `	if len(e.Data) >= 0 {
		return nil, nil // an item`},
	}},
	{Name: "a schedule begins anew with every start", Edits: []Edit{
		{"triggers/schedule/tick.go", `err == nil && print == p.print {`, `err == nil && print == p.print && p.known {`},
	}},
	{Name: "the backfill goes on from when it last looked, not from what it knew then", Edits: []Edit{
		{"triggers/backfill/pass.go", `	sp.since = latest(at.to.Add(-p.options.Overlap), at.begun, p.now.Add(-p.options.Most))
`, `	sp.since = latest(at.to.Add(p.options.Fresh), at.begun, p.now.Add(-p.options.Most))
`},
	}},
	{Name: "what was found is told again by its delivery", Edits: []Edit{
		{"engine/journal/sqlite/ledger_read.go", `		found, err := t.matchAndMarkFound(&e.Event)
		if err != nil {
			return err
		}
		if found {
			continue
		}
`, ``},
	}},
	{Name: "on_error is not taken", Edits: []Edit{
		{"engine/fail.go", `k.takeSteps(ctx, k.rule.OnError)`, `k.takeSteps(ctx, k.rule.OnError[:0])`},
	}},
	{Name: "a for_each that is resumed leaves out an item", Edits: []Edit{
		{"engine/branch.go", `range items(rec.Items, from) {`, `range items(rec.Items, from+min(from, 1)) {`},
	}},
	{Name: "a choose chooses again when its run goes on", Edits: []Edit{
		{"engine/branch.go", `	if taken.State.Finished() {
		if err := k.restore(s`, `	if taken.State.Finished() && s.Verb != "choose" {
		if err := k.restore(s`},
	}},
	{Name: "a sample is taken by event, not by key", Edits: []Edit{
		{"engine/decide.go", `State: journal.Running, Stage: stageOf(rule, p.by),`, `State: journal.Running, Stage: stageOf(rule, e.ID),`},
	}},
	{Name: "prune forgets what a waiting run came of", Edits: []Edit{
		{"engine/journal/sqlite/prune.go", `		AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_event WHERE event = events.seq AND finished = 0)
`, ``},
	}},
	{Name: "a copy forgets what is stopped", Edits: []Edit{
		{"engine/journal/stored/table.go", `	table("holds", 4, texts("workspace", "rule", "lane", "kind", "reason"), numbers("since", "until"), values("why")),
`, ``},
	}},
	{Name: "a copy forgets limits", Edits: []Edit{
		{"engine/journal/stored/table.go", `	table("slots", 3, texts("workspace", "key"), numbers("n", "at", "over"), texts("rule")),
`, ``},
	}},
	{Name: "a rule starts itself", Edits: []Edit{
		{"engine/judge.go", `	if own != nil && (own.Rule == rule.ID || slices.Contains(own.Ancestry, rule.ID)) {
`, `	if own != nil && slices.Contains(own.Ancestry, rule.ID) {
`},
	}},
	{Name: "a change is recorded by a lease that ran out", Edits: []Edit{
		{"engine/journal/ledger/save.go", `s.lease == nil || s.lease.Epoch != s.lane.Epoch || s.lease.released; s.Lost {`, `s.lease == nil || s.lease.released; s.Lost {`},
		{"engine/journal/postgres/ledger_read.go", `		if engine == r.engine {
`, `		if engine != 0 {
`},
	}},
	{Name: "the events of a lane are decided on newest first", Edits: []Edit{
		{"engine/journal/sqlite/fill.go", `+ ` + "`) ORDER BY e.seq`", `+ ` + "`) ORDER BY e.seq DESC`"},
	}},
	{Name: "the last item of a tick is left out", Edits: []Edit{
		{"engine/gather.go", `	verdict.Values = map[string]any{"items": n}
`, `	verdict.Values = map[string]any{"items": n}
	batch = batch[:max(0, len(batch)-1)]
`},
	}},
	{Name: "a hold that is lifted leaves runs where they are", Edits: []Edit{
		{"engine/journal/sqlite/hold.go", `finished = 0 AND state = 'held' AND`, `finished = 0 AND state = 'kept' AND`},
	}},
	{Name: "a safety bound is looked at and never taken", Edits: []Edit{
		{"engine/journal/ledger/save.go", `			l.slotsOf(SlotKey{s.lane.Workspace, slot.Key}).takeSlot(slot, s.at)
`, `			_ = slot
`},
	}},
	{Name: "what a wait has heard is not recorded", Edits: []Edit{
		{"engine/hear.go", `			r.WakeAt = v.now()
		}
		v.touch(r, w.step)
`, `			r.WakeAt = v.now()
		}
		v.touch(r)
`},
	}},
	{Name: "max is not looked at", Edits: []Edit{
		{"engine/journal/journal.go", `s.Max > 0 && len(others) >= s.Max:`, `s.Max > 0 && len(others) > s.Max:`},
	}},

	{Name: "what a claimed message caused starts rules", Edits: []Edit{
		{"engine/claim.go", `c == nil && own == nil && e.Rule == "" {`, `c == nil && own != nil && e.Rule == "" {`},
	}},
	{Name: "a claim is not recorded", Edits: []Edit{
		{"engine/claim.go", `	f.keepAnswer(journal.AnswerClaimed, raw)
`, `	_ = raw
`},
	}},
	{Name: "a run in shadow claims answers", Edits: []Edit{
		{"engine/claim.go", `	t.claims = t.claims && r.Stage == rules.Live
`, ``},
	}},
	{Name: "an answer claims what rules do in the next seconds", Edits: []Edit{
		{"engine/claim.go", `c == nil && own == nil && e.Rule`, `c == nil && e.Rule`},
	}},
	{Name: "an answer that comes after what it caused claims nothing of that", Edits: []Edit{
		{"engine/claim.go", `err != nil || lane != v.lane.Name || !slices`, `err != nil || lane == v.lane.Name || !slices`},
	}},
	{Name: "the parts of a split overlap", Edits: []Edit{
		{"engine/decide.go", `		name, from, to = "split "+s.Group, s.From, s.To`, `		from, to = s.From, s.To`},
	}},
	{Name: "a tick starts a rule that has no schedule any more", Edits: []Edit{
		{"engine/judge.go", `	if !hasSchedule(rule, e) {
		return phrases.New(phrases.ScheduleGone), nil
	}
`, ``},
	}},

	{Name: "an event of another engine's call is decided on at once", Edits: []Edit{
		{"engine/decide.go", `	if d.err = v.checkVacant(ctx, e); d.err == nil {
`, `	if d.err == nil {
`},
	}, Unseen: "on a desk no other engine comes between two reads", Finder: [2]string{"./engine", "TestOwnMessagesAcrossEngines"}},
	{Name: "a message is given up without a look", Edits: []Edit{
		{"actions/builtin/send_message.go", `	if !s.Last {
`, `	if !s.Last || i.Call != "" {
`},
	}, Unseen: "on exact desks no step gives up", Finder: [2]string{"./engine", "TestGivenUpAfterALook"}},
	{Name: "a retry makes a new call though the last may have had its effect", Edits: []Edit{
		{"engine/fail.go", `rec.Intent != nil && !rec.isOpen() {`, `rec.Intent != nil {`},
	}, Unseen: "nobody on a desk has a failed run go on", Finder: [2]string{"./engine", "TestRetryOfAnUnsureCall"}},
	{Name: "a call has failed because its arguments are gone", Edits: []Edit{
		{"engine/act.go", `rec.isOpen() && deskFailure(err) == nil &&`, `!rec.isOpen() && rec.isOpen() &&`},
	}, Unseen: "no contact vanishes from a desk", Finder: [2]string{"./engine", "TestUnsureCallIsNotRendered"}},
	{Name: "a card of a conversation that was taken up is created in another lane", Edits: []Edit{
		{"actions/builtin/create_card.go", `Generation: g, Lane: lane, `, `Generation: g, `},
		{"actions/builtin/create_card.go", `		lane = actions.ConversationLane(card.ConversationID)
`, `		_ = lane
`},
	}, Unseen: "rules on a desk take up no other conversation", Finder: [2]string{"./engine", "TestCardOfAnotherConversation"}},
	{Name: "a pause that another engine has prolonged is lifted", Edits: []Edit{
		{"engine/journal/sqlite/hold.go", `?5 IN (0, until)`, `?5 IN (?5, until)`},
	}, Unseen: "on a desk no other engine comes between two reads", Finder: [2]string{"./engine", "TestPauseOfAnotherEngine"}},
}
