package service

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCardWithoutAGet(t *testing.T) {
	list := func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("status") != "all" {
			t.Errorf("searched with %s, which may leave cards out", r.URL.RawQuery)
		}
		if r.URL.Query().Get("cursor") == "" {
			answer(200, `{"data":[{"id":"other"}],"next_cursor":"n"}`)(w, r)
			return
		}
		answer(200, listOf(jsonCard))(w, r)
	}
	t.Run("as the profile says", func(t *testing.T) {
		p := DefaultProfile()
		p.Cards.Get.Path = ""
		c := setup(t, list, func(o *Options) { o.Profile = &p })
		card, err := c.GetCard(t.Context(), idCard)
		if err != nil || card.Version != "7" || card.ID != idCard {
			t.Errorf("%+v, %v", card, err)
		}
		if _, err := c.GetCard(t.Context(), "missing"); !IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	})
	for _, status := range []int{404, 405} {
		t.Run(fmt.Sprint("found out by ", status), func(t *testing.T) {
			gets := 0
			c := setup(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/cards") {
					list(w, r)
					return
				}
				gets++
				answer(status, `{"code":"not_found"}`)(w, r)
			})
			for range 2 {
				if card, err := c.GetCard(t.Context(), idCard); err != nil || card.ID != idCard {
					t.Errorf("%+v, %v", card, err)
				}
			}
			if gets != 1 {
				t.Errorf("asked in vain %d times", gets)
			}
		})
	}
	t.Run("a missing card of a service that has one", func(t *testing.T) {
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, idCard):
				answer(200, jsonCard)(w, r)
			case strings.HasSuffix(r.URL.Path, "/cards"):
				t.Error("the list was searched")
			default:
				answer(404, `{"code":"not_found"}`)(w, r)
			}
		})
		_, _ = c.GetCard(t.Context(), idCard)
		if _, err := c.GetCard(t.Context(), idOther); !IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("where a board must be named", func(t *testing.T) {
		p := DefaultProfile()
		p.Cards.Get.Path = ""
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/boards"):
				answer(200, "["+jsonBoard+"]")(w, r)
			case r.URL.Query().Get("board_id") == idBoard:
				answer(200, listOf(jsonCard))(w, r)
			default:
				answer(400, `{"code":"invalid_request"}`)(w, r)
			}
		}, func(o *Options) { o.Profile = &p })
		if card, err := c.GetCard(t.Context(), idCard); err != nil || card.ID != idCard {
			t.Errorf("%+v, %v", card, err)
		}
	})
}

func TestCardVersionGoesWhereTheProfileSays(t *testing.T) {
	for _, tc := range []struct {
		in, form, etag   string
		wantHeader, want string
	}{
		{"header", "auto", `"7"`, `"7"`, `{"stage_id":"s"}`},
		{"header", "auto", `7`, `7`, `{"stage_id":"s"}`},
		{"header", "auto", ``, `"7"`, `{"stage_id":"s"}`},
		{"header", "bare", `"7"`, `7`, `{"stage_id":"s"}`},
		{"body", "auto", `"7"`, ``, `{"stage_id":"s","version":7}`},
		{"both", "quoted", `7`, `"7"`, `{"stage_id":"s","version":7}`},
		{"both", "auto", `7`, `7`, `{"stage_id":"s","version":7}`},
		{"both", "auto", ``, ``, `{"stage_id":"s","version":7}`},
	} {
		p := DefaultProfile()
		p.Cards.VersionIn, p.Cards.IfMatch = tc.in, tc.form
		var header, body string
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				b, _ := io.ReadAll(r.Body)
				header, body = r.Header.Get("If-Match"), string(b)
			}
			if tc.etag != "" {
				w.Header().Set("ETag", tc.etag)
			}
			answer(200, jsonCard)(w, r)
		}, func(o *Options) { o.Profile = &p })
		card, err := c.GetCard(t.Context(), idCard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.MoveCard(t.Context(), testCardKey, idCard, card.Version, "s"); err != nil || header != tc.wantHeader || body != tc.want {
			t.Errorf("%+v: If-Match %s, body %s, %v", tc, header, body, err)
		}
	}
}

func TestCardOperationsOfAnotherService(t *testing.T) {
	p, errs := ProfileFromMap(map[string]any{"cards": map[string]any{
		"move":       map[string]any{"method": "PATCH", "path": "/boards/cards/{id}", "body": map[string]any{"stage_id": "column_id"}},
		"create":     map[string]any{"body": map[string]any{"title": "name", "label_id": "label", "due_date": "due"}},
		"due_format": "date", "write_scope": "kanban:write",
	}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/self/hosted/v1")+" "+r.Header.Get("Idempotency-Key")+" "+string(b))
		answer(403, `{}`)(w, r)
	}, func(o *Options) { o.Profile = &p })
	_, err := c.MoveCard(t.Context(), testCardKey, "1", "7", "s")
	if !strings.Contains(err.Error(), "needs the scope kanban:write") {
		t.Errorf("got %v", err)
	}
	_, _ = c.CreateCard(t.Context(), testCardKey, NewCard{BoardID: "b", Title: "t", LabelIDs: []string{"l", "m"}, DueDate: &dueDay})
	want := []string{`PATCH /boards/cards/1  {"column_id":"s","version":7}`, `POST /kanban/cards ` + testCardKey + ` {"due":"2026-11-20","label":"l","name":"t"}`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sent %v\nwant %v", got, want)
	}
}
