package service

import (
	"fmt"
	"iter"
)

// maxPages bounds every iteration: a million objects at a hundred a page.
const maxPages = 10_000

// PagingError is a list that does not come to an end: the service repeats itself.
type PagingError struct {
	Op     string
	Reason string
}

func (e *PagingError) Error() string {
	return fmt.Sprintf("%s: the list does not end: %s", e.Op, e.Reason)
}

// maxBarren bounds the pages in a row that show nothing new. Some may be empty because of what the key does not see, or repeat what has moved on; a service that goes on
// so for ever is not asked a million times.
const maxBarren = 100

// byCursor walks a list whose answers name the next page. It ends where there is no cursor. Each object is given once: a list that moves while it is read may show some again.
func byCursor[T any](o Operation, cursor string, id func(*T) string, fetch func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seen, given := map[string]bool{cursor: true}, map[string]bool{}
		barren := 0
		for range maxPages {
			page, err := fetch(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			barren++
			for i := range page.Items {
				key := id(&page.Items[i])
				if given[key] {
					continue
				}
				given[key], barren = key != "", 0
				if !yield(page.Items[i], nil) {
					return
				}
			}
			cursor = page.NextCursor
			if cursor == "" || page.ended {
				return
			}
			if seen[cursor] || barren >= maxBarren {
				reason := fmt.Sprintf("the cursor %q came twice", cursor)
				if !seen[cursor] {
					reason = fmt.Sprintf("%d pages show nothing new", barren)
				}
				yield(*new(T), &PagingError{o.String(), reason})
				return
			}
			seen[cursor] = true
		}
		yield(*new(T), &PagingError{o.String(), fmt.Sprintf("more than %d pages", maxPages)})
	}
}

// byOffset walks a list by skipping what was read. A page shorter than asked for does not end it, because the service may
// give fewer than it is asked for; an empty page does. Each object is given once, and none is passed over because the list
// moves while it is read: a list of several pages is read again from its beginning, until its first page shows nothing new.
// There is what has moved to the front, and what has moved up because others left the list.
func byOffset[T any](o Operation, limit, offset int, id func(*T) string, fetch func(limit, offset int) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		given := map[string]bool{}
		at, again, long := offset, false, false // long: there may be more than the first page
		for range maxPages {
			page, err := fetch(limit, at)
			if err != nil {
				yield(*new(T), err)
				return
			}
			fresh := 0
			for i := range page.Items {
				key := id(&page.Items[i])
				if given[key] || key == "" && again {
					continue
				}
				given[key] = key != ""
				fresh++
				if !yield(page.Items[i], nil) {
					return
				}
			}
			n, first := len(page.Items), at == offset
			long = long || n >= limit || n > 0 && !first
			at += n
			switch {
			case again && first && fresh == 0, !again && fresh == 0 && n > 0 && n != limit:
				return // nothing new; or a service that ignores the offset, and this was the whole list once more
			case n == 0, page.ended, again && fresh == 0:
				if !long {
					return
				}
				at, again = offset, true
			case fresh == 0:
				yield(*new(T), &PagingError{o.String(), fmt.Sprintf("the page from %d on repeats what came before", at-n)})
				return
			}
		}
		yield(*new(T), &PagingError{o.String(), fmt.Sprintf("more than %d pages from %d on", maxPages, offset)})
	}
}
