package contract_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const crowd = 260 // more than two pages

// crowded is a desk to which so many customers have written, each with a conversation, an
// attendance and a card.
func crowded(t *testing.T) *desk {
	t.Helper()
	d := open(t)
	for n := range crowd {
		d.write(n)
	}
	return d
}

// write has the customer with a number write; it is a new one when nobody had the number.
func (d *desk) write(n int) sandbox.Written {
	d.t.Helper()
	return must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", n), Text: "good evening"}))(d.t)
}

// counted walks a list to its end and counts how often each item was given. In the middle something
// may happen.
func counted[T any](t *testing.T, list iter.Seq2[T, error], id func(T) string, meanwhile func(n int, id string)) map[string]int {
	t.Helper()
	given, n := map[string]int{}, 0
	for item, err := range list {
		noError(t, err)
		given[id(item)]++
		n++
		meanwhile(n, id(item))
	}
	return given
}

// exactlyOnce complains about items that were given twice or not at all. Items that came meanwhile
// may be given, once.
func exactlyOnce(t *testing.T, given map[string]int, expected []string) {
	t.Helper()
	missed, twice := 0, 0
	for _, id := range expected {
		if given[id] == 0 {
			missed++
		}
	}
	for _, n := range given {
		if n > 1 {
			twice++
		}
	}
	if missed > 0 || twice > 0 || len(expected) < 250 {
		t.Errorf("of %d items %d were missed, and %d were given twice", len(expected), missed, twice)
	}
}

// walk is a list and the ids that are in it before it is walked.
func walk[T any](list func(*desk) iter.Seq2[T, error], id func(T) string) func(*testing.T, *desk, func(int, string)) {
	return func(t *testing.T, d *desk, meanwhile func(int, string)) {
		t.Helper()
		quiet := counted(t, list(d), id, func(int, string) {})
		expected := make([]string, 0, len(quiet))
		for id := range quiet {
			expected = append(expected, id)
		}
		want(t, "items while nothing happens", len(expected), crowd)
		exactlyOnce(t, quiet, expected)
		exactlyOnce(t, counted(t, list(d), id, meanwhile), expected)
	}
}

// Whoever walks a list gets each item once, whatever happens meanwhile.
func TestPaging(t *testing.T) {
	conversations := walk(func(d *desk) iter.Seq2[service.Conversation, error] {
		return d.Conversations(d.ctx, service.ConversationQuery{})
	}, conversationID)
	// Every 20 items somebody new writes: what was on one page moves to the next.
	newcomers := func(d *desk) func(int, string) {
		return func(n int, _ string) {
			if n%20 == 0 {
				d.write(crowd + n)
			}
		}
	}
	for name, list := range map[string]func(*testing.T, *desk, func(int, string)){
		"conversations": conversations,
		"contacts":      walk(func(d *desk) iter.Seq2[service.Contact, error] { return d.Contacts(d.ctx, service.ContactQuery{}) }, contactID),
		"attendances": walk(func(d *desk) iter.Seq2[service.Attendance, error] {
			return d.Attendances(d.ctx, service.AttendanceQuery{})
		}, attendanceID),
		"cards": walk(func(d *desk) iter.Seq2[service.Card, error] { return d.Cards(d.ctx, service.CardQuery{}) }, cardID),
	} {
		t.Run(name, func(t *testing.T) {
			d := crowded(t)
			list(t, d, newcomers(d))
		})
	}
	t.Run("messages", func(t *testing.T) {
		d := open(t)
		conversation := ""
		for range crowd {
			conversation = d.write(0).Conversation.String()
		}
		walk(func(d *desk) iter.Seq2[service.Message, error] { return d.Messages(d.ctx, conversation, "") }, messageID)(t, d, func(n int, _ string) {
			if n%20 == 0 {
				must(d.SendMessage(d.ctx, conversation, service.NewMessage{ClientID: uuid.NewString(), Text: "meanwhile"}))(t)
			}
		})
	})
	t.Run("conversations that move to the front", func(t *testing.T) {
		d := crowded(t)
		// The customers who wrote first are on the last page, until they write again.
		conversations(t, d, func(n int, _ string) {
			if n%20 == 0 {
				d.write(n / 20)
			}
		})
	})
	t.Run("conversations that leave the list", func(t *testing.T) {
		d := crowded(t)
		walk(func(d *desk) iter.Seq2[service.Conversation, error] {
			return d.Conversations(d.ctx, service.ConversationQuery{Unread: true, Limit: 20})
		}, conversationID)(t, d, func(_ int, id string) {
			noError(t, d.MarkRead(d.ctx, id))
		})
	})
	t.Run("attendances that are closed", func(t *testing.T) {
		d := crowded(t)
		conversation := map[string]string{}
		walk(func(d *desk) iter.Seq2[service.Attendance, error] {
			return d.Attendances(d.ctx, service.AttendanceQuery{Status: service.StatusOpen})
		}, func(a service.Attendance) string {
			conversation[a.ID] = a.ConversationID
			return a.ID
		})(t, d, func(_ int, id string) {
			must(d.CloseAttendance(d.ctx, conversation[id], ""))(t)
		})
	})
}
