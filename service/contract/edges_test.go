package contract_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// What is written arrives as it was written, and is found.
func TestTexts(t *testing.T) {
	for _, text := range []string{"100% & more + less = ção?", `quotes " and \ and /`, "a\nb\tc", "日本語 🙂", "<script>", "  blanks  ", "#?;:@"} {
		w := newWorld(t)
		sent := must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: text}))(t)
		want(t, "text", must(w.GetMessage(w.ctx, sent.ID))(t).Text, text)
		named := must(w.UpdateConversation(w.ctx, w.conversation, service.ConversationPatch{Name: service.Set(text)}))(t)
		want(t, "name", named.Name, text)
		found := must(w.ListConversations(w.ctx, service.ConversationQuery{Q: text}))(t)
		same(t, "found by "+text, ids(found.Items, conversationID), []string{w.conversation})
		closed := must(w.CloseAttendance(w.ctx, w.conversation, text))(t)
		want(t, "reason", closed.CloseReason, text)
	}
}

// A customer is found under every way to write the phone, with and without the ninth digit.
func TestPhones(t *testing.T) {
	w := newWorld(t)
	for _, phone := range []string{mariaPhone, "5511987654321", "(11) 98765-4321", "11987654321", "+55 11 8765-4321", "551187654321", "1187654321"} {
		contact := must(w.FindContact(w.ctx, phone))(t)
		if contact == nil || contact.ID != w.contact {
			t.Errorf("the contact of %s is %+v", phone, contact)
		}
		conversation := must(w.FindConversation(w.ctx, phone, w.channel))(t)
		if conversation == nil || conversation.ID != w.conversation {
			t.Errorf("the conversation with %s is %+v", phone, conversation)
		}
	}
	must(w.UpdateConversation(w.ctx, w.conversation, service.ConversationPatch{Archived: service.Set(true)}))(t)
	if found := must(w.FindConversation(w.ctx, mariaPhone, ""))(t); found == nil {
		t.Error("an archived conversation is not found")
	}
	if found := must(w.FindConversation(w.ctx, "+5511900000001", ""))(t); found != nil {
		t.Errorf("nobody's conversation is %+v", found)
	}
}

// Bounds of a search are exact to the millisecond, in whatever zone they are written.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	w.later(1500 * time.Millisecond)
	second := must(w.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511900000002", Text: "hi"}))(t).Attendance.String()
	moment := friday.Add(1500 * time.Millisecond).In(time.FixedZone("", 9*3600))
	from := func(at time.Time) []string {
		return ids(must(w.ListAttendances(w.ctx, service.AttendanceQuery{From: at}))(t).Items, attendanceID)
	}
	same(t, "from the moment", from(moment), []string{second})
	same(t, "from a millisecond later", from(moment.Add(time.Millisecond)), []string{})
	to := must(w.ListAttendances(w.ctx, service.AttendanceQuery{To: moment}))(t)
	same(t, "to the moment", ids(to.Items, attendanceID), []string{w.attendance})
}

// Of many who move a card from the same version one succeeds; of many who make the same call it is
// done once.
func TestTogether(t *testing.T) {
	const many = 12
	together := func(call func(n int) error) (errs []error) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for n := range many {
			all.Go(func() {
				err := call(n)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
		all.Wait()
		return errs
	}
	t.Run("one version, many keys", func(t *testing.T) {
		w := newWorld(t)
		moved := 0
		for _, err := range together(func(n int) error {
			_, err := w.Client.MoveCard(w.ctx, fmt.Sprintf("move-number-%d", n), w.card, "1", w.won)
			return err
		}) {
			if err == nil {
				moved++
			} else if !service.IsVersionConflict(err) {
				t.Error(err)
			}
		}
		want(t, "moves", moved, 1)
	})
	t.Run("one key", func(t *testing.T) {
		w := newWorld(t)
		before := len(w.Effects())
		fresh := 0
		var mu sync.Mutex
		for _, err := range together(func(int) error {
			card, err := w.Client.CreateCard(w.ctx, "one-key-for-all", service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Once"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !card.Replayed {
				fresh++
			}
			return err
		}) {
			if e, failed := errors.AsType[*service.Error](err); failed && (e.Status != http.StatusConflict || !e.Pending) {
				t.Error(err)
			}
		}
		want(t, "answers that are no repeat", fresh, 1)
		want(t, "effects", len(w.effects(before)), 1)
	})
	t.Run("one client_id", func(t *testing.T) {
		w := newWorld(t)
		before := len(w.Effects())
		m := service.NewMessage{ClientID: uuid.NewString(), Text: "once"}
		for _, err := range together(func(int) error { _, err := w.SendMessage(w.ctx, w.conversation, m); return err }) {
			noError(t, err)
		}
		want(t, "effects", len(w.effects(before)), 1)
	})
}

// Boards that a key may not see are not there for it, and neither are private cards.
func TestHiddenCards(t *testing.T) {
	w := newWorld(t)
	key := must(w.NewKey(sandbox.NewKey{Scopes: sandbox.Scopes, Boards: []string{"Attendances"}}))(t)
	c := w.client(key.APIKey)
	same(t, "boards", ids(must(c.ListBoards(w.ctx, false))(t), func(b service.Board) string { return b.Name }), []string{"Attendances"})
	for name, err := range map[string]error{
		"the board":     calls["GET /kanban/boards/{id}"](w.ctx, c, w),
		"its card":      calls["GET /kanban/cards/{id}"](w.ctx, c, w),
		"a card on it":  calls["POST /kanban/cards"](w.ctx, c, w),
		"an edit on it": calls["PATCH /kanban/cards/{id}"](w.ctx, c, w),
		"a move on it":  calls["POST /kanban/cards/{id}/move"](w.ctx, c, w),
		"a private card": func() error {
			_, err := w.GetCard(w.ctx, must(w.Sandbox.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Secret", Private: true}))(t).ID.String())
			return err
		}(),
	} {
		if !service.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
