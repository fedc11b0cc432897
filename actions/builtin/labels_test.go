package builtin_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

func TestLabelsOfOthersAreKept(t *testing.T) {
	d := newDesk(t)
	vip, late := d.id(service.KindLabel, "vip"), d.id(service.KindLabel, "sla-breach")
	r, run := d.meanwhile("add_labels", m{"labels": []any{"vip"}}, sandbox.Fault{Operation: patchOp, Kind: "status_before"}, func() {
		must(d.client.UpdateConversation(context.Background(), d.conversation, service.ConversationPatch{LabelIDs: service.Set([]string{late})}))
	})
	wantOutcome(t, r, actions.Done, "")
	if !slices.Contains(run.settled, actions.Replan) {
		t.Errorf("settled %v, want it planned anew", run.settled)
	}
	if got := d.readConversation().LabelIDs; !slices.Contains(got, vip) || !slices.Contains(got, late) {
		t.Errorf("labels %v, want both", got)
	}
}

// TestLabelsAreReadBack shows that a label is added again if it is missing when the labels are read
// back: another client that read the labels before the change wrote them after it.
func TestLabelsAreReadBack(t *testing.T) {
	d := newDesk(t)
	vip, late := d.id(service.KindLabel, "vip"), d.id(service.KindLabel, "sla-breach")
	patched := false
	d.faults.see(func(r *http.Request) {
		if r.Method == http.MethodPatch {
			patched = true
		} else if patched { // the read after the write
			d.faults.see(nil)
			must(d.client.UpdateConversation(context.Background(), d.conversation, service.ConversationPatch{LabelIDs: service.Set([]string{late})}))
		}
	})
	wantOutcome(t, d.do("add_labels", m{"labels": []any{"vip"}}), actions.Done, "")
	if got := d.readConversation().LabelIDs; !slices.Contains(got, vip) || !slices.Contains(got, late) {
		t.Errorf("labels %v, want both", got)
	}
}

func TestSetLabelsThatAPersonOvertookIsSuperseded(t *testing.T) {
	d := newDesk(t)
	late := d.id(service.KindLabel, "sla-breach")
	r, _ := d.meanwhile("set_labels", m{"labels": []any{"vip"}}, sandbox.Fault{Operation: patchOp, Kind: "status_before"}, func() {
		must(d.client.UpdateConversation(context.Background(), d.conversation, service.ConversationPatch{LabelIDs: service.Set([]string{late})}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
}

func TestSetLabelsToNone(t *testing.T) {
	d := newDesk(t)
	d.do("add_labels", m{"labels": []any{"vip"}})
	run := d.drive("set_labels", d.step(m{"labels": nil}))
	must(run.run())
	if got := d.readConversation().LabelIDs; len(got) > 0 {
		t.Errorf("labels %v, want none", got)
	}
}
