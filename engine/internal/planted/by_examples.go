package planted

// Bugs that the tests of the examples find.
var byExamples = []Bug{
	{Name: "a delivery is answered before it is recorded", Edits: []Edit{
		{"triggers/webhook/webhook.go", `	outcome, reason := r.receive(w, req)
`, `	w.WriteHeader(http.StatusAccepted)
	outcome, reason := r.receive(w, req)
`},
	}},
	{Name: "what could not be recorded is answered as if it were", Edits: []Edit{
		{"triggers/webhook/webhook.go", `		return Unavailable, err
`, `		return Recorded, err
`},
	}, Examples: "sla-escalation"},
	{Name: "what comes late is answered all the same", Edits: []Edit{
		{"engine/judge.go", `limit > 0 && age > limit {`, `limit < 0 && age > limit {`},
	}},
	{Name: "every try of a message has a client_id of its own", Edits: []Edit{
		{"actions/builtin/send_message.go", `	m, err := c.client.SendMessage(`, `	in.Message.ClientID = uuid.NewString()
	m, err := c.client.SendMessage(`},
		{"actions/builtin/send_message.go", `	"github.com/quandohq/quando/actions"
`, `	"github.com/google/uuid"
	"github.com/quandohq/quando/actions"
`},
	}},
	{Name: "every try of a new card has a key of its own", Edits: []Edit{
		{"actions/builtin/create_card.go", `c.client.CreateCard(ctx, in.Key, in.Card)`, `c.client.CreateCard(ctx, rand.Text(), in.Card)`},
		{"actions/builtin/create_card.go", `	"context"
`, `	"context"
	"crypto/rand"
`},
	}},
	{Name: "a call that was cut off is repeated without a look", Edits: []Edit{
		{"engine/act.go", `	if !rec.Confirmed {
		var err error
`, `	if rec.Tried.IsZero() {
		var err error
`},
	}},
	{Name: "a call that was cut off is settled while it may be under way", Edits: []Edit{
		{"engine/act.go", `!rec.Answered && !rec.Confirmed && k.now().Before(settled) {`, `!rec.Answered && !rec.Confirmed && k.now().IsZero() {`},
		{"engine/act.go", `		wait = max(wait, rec.Tried.Add(k.workspace.Timeout).Sub(now))
	}
	bound`, `		wait = max(wait, 0)
	}
	bound`},
	}},
	{Name: "an uncertain answer is taken for a refusal", Edits: []Edit{
		{"engine/act.go", `	rec.Answered = !actions.IsUncertain(err)
`, `	rec.Answered = true
`},
	}},
	{Name: "an intent is recorded only with what came of it", Edits: []Edit{
		{"engine/act.go", `	err := k.save(ctx, false, take...)
	k.change.Call, k.change.Message = nil, false
`, `	var err error
	k.change.Call, k.change.Message = nil, false
`},
	}},
	{Name: "what a call will cause is not waited for", Edits: []Edit{
		{"engine/own.go", `		if waits, err := v.awaitAnswer(ctx, r, rec, e, f); waits || err != nil {
			return waits, err
		}
`, ``},
	}},
	{Name: "a lane that is released forgets what came meanwhile", Edits: []Edit{
		{"engine/journal/sqlite/ledger_write.go", `r.News, r.Next, r.Soon, k.Workspace`, `r.News, r.Next, r.Next, k.Workspace`},
		{"engine/journal/sqlite/ledger_write.go", `lane = ? AND news = ?`, `lane = ? AND news >= ?`},
	}},
	{Name: "an event of the lane that came while it was worked on waits for the next one", Edits: []Edit{
		{"engine/journal/sqlite/ledger_write.go", `news = news + excluded.news`, `news = news`},
	}},
	{Name: "a first wait counts from when the event was received", Edits: []Edit{
		{"engine/wait.go", `		from = k.facts.event.CreatedAt
`, `		from = k.facts.event.ReceivedAt
`},
	}},
	{Name: "a limit is looked at and never taken", Edits: []Edit{
		{"engine/journal/ledger/run.go", `		slots.takeSlot(*st.Limit, s.at)
`, ``},
	}},
	{Name: "mode single lets a second run begin", Edits: []Edit{
		{"engine/journal/journal.go", `s.Mode == rules.Single && len(others) > 0:`, `s.Mode == rules.Single && len(others) > 1:`},
	}},
	{Name: "cancel_on knows nothing of what came before the run", Edits: []Edit{
		{"engine/hear.go", `	if len(rule.CancelOn) == 0 {
`, `	if len(rule.CancelOn) >= 0 {
`},
	}},
	{Name: "cancel_on is ignored", Edits: []Edit{
		{"engine/hear.go", `		if m.Event != e.Type {
			continue
`, `		if m.Event != "" {
			continue
`},
	}},
	{Name: "own effects are not recognised", Edits: []Edit{
		{"engine/own.go", `		case f.matchesCall(e, fact, c, again):
`, `		case f.matchesCall(e, fact, c, again) && e.Type == "":
`},
	}},
	{Name: "own messages are taken for those of a person", Edits: []Edit{
		{"engine/own.go", `	if e.unsaved.has(messageKey{workspace, message}) {
		return true, nil
	}
	own, err`, `	own, err`},
		{"engine/own.go", `	return len(own) > 0, err
`, `	return len(own) < 0, err
`},
	}},
	{Name: "what a person does after the engine is taken for its own", Edits: []Edit{
		{"engine/own.go", `	if c.Used && !again || recordedBy(e, c.After) || e.CreatedAt`, `	if e.CreatedAt`},
		{"engine/own.go", `	if stage, ok := fact["stage_id"].(string); ok && c.Stage != "" && ObjectKey(stage) != ObjectKey(c.Stage) {
		return false
	}
	return fact == nil || len(c.Set) == 0 || agrees(throughJSON(fact), throughJSON(c.Set))
`, `	return fact != nil
`},
	}},
	{Name: "after a wait facts are those of before", Edits: []Edit{
		{"engine/facts.go", `	f.stale = true
`, `	f.stale = false
`},
	}},
	{Name: "a gather ends with the first event", Edits: []Edit{
		{"engine/gather.go", `		if v.stopped() || g.Until.After(by) {
`, `		if v.stopped() {
`},
		{"engine/gather.go", `	until := v.now().Add(g.Quiet)
`, `	until := v.now()
`},
	}},
	{Name: "a gather never ends", Edits: []Edit{
		{"engine/gather.go", `		if v.stopped() || g.Until.After(by) {
`, `		if v.stopped() || !g.Until.IsZero() {
`},
	}},
	{Name: "a second delivery is a second event", Edits: []Edit{
		{"engine/journal/sqlite/accept.go", `		e.Workspace, e.ID, e.Type, `, `		e.Workspace, fmt.Sprintf("%s/%p", e.ID, &data), e.Type, `},
	}},
	{Name: "Retry-After is ignored", Edits: []Edit{
		{"actions/builtin/classify.go", `		return actions.RetryAfter(e.RetryAfter, err)
`, `		return err
`},
	}},
	{Name: "a passing error is the end", Edits: []Edit{
		{"engine/act.go", `	case actions.IsPermanent(err):
		return k.fail(ctx, s, taken, rec, err)
	}
	return k.retryLater(`, `	case err != nil:
		return k.fail(ctx, s, taken, rec, err)
	}
	return k.retryLater(`},
	}},
	{Name: "a version conflict is the end", Edits: []Edit{
		{"actions/builtin/classify.go", `		return actions.Stale(err)
`, `		return actions.Permanent(err)
`},
	}},
	{Name: "the generation stays the same after a version conflict", Edits: []Edit{
		{"engine/act.go", `		rec.Generation++
		rec.Intent = nil
		rec.setError(taken, err)
`, `		rec.Intent = nil
		rec.setError(taken, err)
`},
	}},
	{Name: "only_from is not looked at", Edits: []Edit{
		{"actions/builtin/move_card.go", `len(from) > 0 && !slices.Contains(from, card.StageID) {`, `len(from) > 0 && !slices.Contains(from, card.StageID) && card.StageID == "" {`},
	}},
	{Name: "a move that was cut off is repeated although a person has moved the card since", Edits: []Edit{
		{"actions/builtin/move_card.go", `		return settled(actions.Overtook, phrases.CardMovedByOther)
`, `		return settled(actions.Replan, "")
`},
		{"actions/builtin/move_card.go", `len(from) > 0 && !slices.Contains(from, card.StageID) {`, `len(from) > 0 && s.Generation == 0 && !slices.Contains(from, card.StageID) {`},
	}},
	{Name: "how far a schedule has come is written down before its ticks", Edits: []Edit{
		{"triggers/schedule/tick.go", `	for part := range slices.Chunk(events, maxAtOnce) {
`, `	for _, p := range s.positions {
		if err := s.options.Cursors.SetCursor(ctx, s.cursor(p.rule), p.at.UTC().Format(time.RFC3339Nano)+" "+p.print); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(events, maxAtOnce) {
`},
	}},
	{Name: "a tick that is told again is another tick", Edits: []Edit{
		{"triggers/schedule/tick.go", `ID: rule + "/" + at.Format(time.RFC3339), Type`, `ID: rule + "/" + now.Format(time.RFC3339Nano), Type`},
	}},
	{Name: "what a wait waits for does not wake it", Edits: []Edit{
		{"engine/hear.go", `		if r.State != journal.Held {
			r.WakeAt = v.now()
		}
		v.touch(r, w.step)
`, `		v.touch(r, w.step)
`},
	}},
	{Name: "a run is ended by a message of the engine that has no receipt yet", Edits: []Edit{
		{"engine/hear.go", `		} else if unsettled {
`, `		} else if unsettled && e.Decided {
`},
	}},
	{Name: "a run on trial acts", Edits: []Edit{
		{"engine/act.go", `	if k.run.Stage != rules.Live {
		rec.Intent`, `	if k.run.Stage == rules.Draft {
		rec.Intent`},
	}},
}
