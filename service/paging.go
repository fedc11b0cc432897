package service

import (
	"fmt"
	"iter"
)

// maxPages bounds every iteration: a million objects at a hundred a page.
const maxPages = 10_000

// PagingError is a list that does not end: the service repeats itself.
type PagingError struct {
	Op     string
	Reason string
}

func (e *PagingError) Error() string {
	return fmt.Sprintf("%s: the list does not end: %s", e.Op, e.Reason)
}

// maxBarren bounds the pages in a row that have nothing new. Some may be empty because of what the
// key does not see, or repeat what has shifted; this stops a service that does so forever.
const maxBarren = 100

// byCursor iterates over a list whose answers name the next page. It ends if there is no cursor. It
// yields each object once: a list that shifts while it is read may repeat some.
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

// byOffset iterates over a list by offset. A page shorter than requested does not end it, because
// the service may return fewer; an empty page does. It yields each object once, and misses none
// although the list shifts while it is read: it reads a list of several pages again from its
// beginning, until its first page has nothing new. That catches objects that moved to the front,
// and those that moved up because others left the list.
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
				return // nothing new; or a service that ignores the offset returned the whole list again
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
