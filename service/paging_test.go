package service

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// numbered makes objects with the ids from, from+1, … to-1.
func numbered(from, to int) string {
	var items []string
	for i := from; i < to; i++ {
		items = append(items, fmt.Sprintf(`{"id":"%d"}`, i))
	}
	return strings.Join(items, ",")
}

func collectIDs[T any](seq iter.Seq2[T, error], id func(T) string) (ids []string, err error) {
	for v, err := range seq {
		if err != nil {
			return ids, err
		}
		ids = append(ids, id(v))
	}
	return ids, nil
}

func conversationID(c Conversation) string { return c.ID }

func idsUpTo(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids
}

func TestOffsetPaging(t *testing.T) {
	const total = 250
	for name, most := range map[string]int{"as many as asked": 1000, "fewer than asked": 30} {
		t.Run(name, func(t *testing.T) {
			c := setup(t, func(w http.ResponseWriter, r *http.Request) {
				limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
				offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
				end := min(total, offset+min(limit, most))
				answer(200, `{"data":[`+numbered(min(offset, end), end)+`],"next_cursor":null}`)(w, r)
			})
			got, err := collectIDs(c.Conversations(t.Context(), ConversationQuery{}), conversationID)
			if diff := cmp.Diff(idsUpTo(total), got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// A conversation that gets a message moves to the front and shifts the others: none is yielded
// twice, and none is missed, because the list is read until its first page has nothing new.
func TestOffsetPagingWhileTheListMoves(t *testing.T) {
	pages := []string{numbered(0, 100), numbered(98, 148), "", numbered(148, 150) + "," + numbered(0, 98), numbered(98, 148), numbered(148, 150) + "," + numbered(0, 98)}
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		page := pages[0]
		pages = pages[1:]
		answer(200, "["+page+"]")(w, r)
	})
	got, err := collectIDs(c.Contacts(t.Context(), ContactQuery{}), func(c Contact) string { return c.ID })
	if diff := cmp.Diff(idsUpTo(150), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Objects without a readable id are yielded once as well, not endlessly.
func TestOffsetPagingWithoutIDs(t *testing.T) {
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		items := strings.TrimSuffix(strings.Repeat(`{"name":"Maria"},`, 100), ",")
		if r.URL.Query().Get("offset") != "" {
			items = ""
		}
		answer(200, "["+items+"]")(w, r)
	})
	got, err := collectIDs(c.Contacts(t.Context(), ContactQuery{}), func(c Contact) string { return c.Name })
	if len(got) != 100 || err != nil {
		t.Errorf("%d contacts, %v", len(got), err)
	}
}

func TestOffsetIgnoredByTheService(t *testing.T) {
	calls := 0
	small := setup(t, func(w http.ResponseWriter, r *http.Request) { calls++; answer(200, "["+numbered(0, 3)+"]")(w, r) })
	got, err := collectIDs(small.Conversations(t.Context(), ConversationQuery{}), conversationID)
	if len(got) != 3 || err != nil || calls != 2 {
		t.Errorf("a whole list: %v, %v after %d requests", got, err, calls)
	}
	full := setup(t, answer(200, "["+numbered(0, 100)+"]"))
	got, err = collectIDs(full.Conversations(t.Context(), ConversationQuery{}), conversationID)
	if _, ok := errors.AsType[*PagingError](err); !ok || len(got) != 100 {
		t.Errorf("a full page that repeats: %d items, %v", len(got), err)
	}
}

func TestCursorPaging(t *testing.T) {
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			answer(200, `{"data":[`+numbered(0, 2)+`],"next_cursor":"a"}`)(w, r)
		case "a":
			answer(200, `{"items":[],"meta":{"next_cursor":"b"}}`)(w, r) // an empty page is not the end
		case "b":
			answer(200, `{"data":[`+numbered(2, 3)+`],"next_cursor":"c","has_more":false}`)(w, r)
		default:
			t.Errorf("asked for %s", r.URL)
		}
	})
	got, err := collectIDs(c.Attendances(t.Context(), AttendanceQuery{}), func(a Attendance) string { return a.ID })
	if diff := cmp.Diff(idsUpTo(3), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestRepeatedCursorEnds(t *testing.T) {
	calls := 0
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		answer(200, fmt.Sprintf(`{"data":[{"id":"%d"}],"next_cursor":"%d"}`, calls, calls%3))(w, r)
	})
	for _, err := range c.Cards(t.Context(), CardQuery{}) {
		if err != nil {
			if e, ok := errors.AsType[*PagingError](err); !ok || e.Op != "GET /kanban/cards" || calls > 5 {
				t.Errorf("%v after %d requests", err, calls)
			}
			return
		}
	}
	t.Error("the list ended without an error")
}

// A service whose pages never end is asked for a while, and each object is given once.
func TestEndlessPagesEnd(t *testing.T) {
	for name, items := range map[string]string{"the same again and again": numbered(0, 100), "nothing": ""} {
		asked := 0
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			answer(200, fmt.Sprintf(`{"items":[%s],"next_cursor":"%d"}`, items, asked))(w, r)
		})
		got, err := collectIDs(c.Attendances(t.Context(), AttendanceQuery{}), func(a Attendance) string { return a.ID })
		if _, ok := errors.AsType[*PagingError](err); !ok || asked > 200 || len(got) > 100 {
			t.Errorf("%s: %d after %d pages, %v", name, len(got), asked, err)
		}
	}
}

// A service that counts the message among the older ones that they are asked from comes to its end
// too.
func TestMessagePagingThatOverlaps(t *testing.T) {
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("before"))
		answer(200, "["+numbered(from, min(from+100, 150))+"]")(w, r)
	})
	got, err := collectIDs(c.Messages(t.Context(), idConv, ""), func(m Message) string { return m.ID })
	if diff := cmp.Diff(idsUpTo(150), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestMessagePaging(t *testing.T) {
	for _, tc := range []struct{ name, first, second, wantBefore string }{
		{"by the list's cursor", `{"data":[` + numbered(0, 2) + `],"next_cursor":"older"}`, `{"data":[` + numbered(2, 3) + `],"next_cursor":null}`, "older"},
		{"by the last message", `[` + numbered(0, 2) + `]`, `[` + numbered(2, 3) + `]`, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := setup(t, func(w http.ResponseWriter, r *http.Request) {
				switch before := r.URL.Query().Get("before"); before {
				case "":
					answer(200, tc.first)(w, r)
				case tc.wantBefore:
					answer(200, tc.second)(w, r)
				case "2":
					answer(200, `[]`)(w, r)
				default:
					t.Errorf("asked for messages before %q", before)
				}
			})
			got, err := collectIDs(c.Messages(t.Context(), idConv, ""), func(m Message) string { return m.ID })
			if diff := cmp.Diff(idsUpTo(3), got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestPagingStopsWhenToldTo(t *testing.T) {
	calls := 0
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		answer(200, `{"data":[`+numbered(0, 100)+`],"next_cursor":"n"}`)(w, r)
	})
	for range c.Cards(t.Context(), CardQuery{}) {
		break
	}
	if calls != 1 {
		t.Errorf("%d requests", calls)
	}
}

func TestPagingReportsAnError(t *testing.T) {
	_, err := collectIDs(setup(t, answer(403, `{"code":"forbidden"}`)).Conversations(t.Context(), ConversationQuery{}), conversationID)
	if !IsRefused(err) {
		t.Errorf("got %v", err)
	}
}
