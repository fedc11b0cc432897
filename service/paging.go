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

// byCursor walks a list whose answers name the next page. It ends where there is no cursor.
func byCursor[T any](o Operation, cursor string, fetch func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seen := map[string]bool{cursor: true}
		for range maxPages {
			page, err := fetch(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			cursor = page.NextCursor
			if cursor == "" || page.ended {
				return
			}
			if seen[cursor] {
				yield(*new(T), &PagingError{o.String(), fmt.Sprintf("the cursor %q came twice", cursor)})
				return
			}
			seen[cursor] = true
		}
		yield(*new(T), &PagingError{o.String(), fmt.Sprintf("more than %d pages", maxPages)})
	}
}

// byOffset walks a list by skipping what was read. A page shorter than asked for does not end it, because the service may
// give fewer than it is asked for; an empty page does. What moves from one page to the next while the list is read is
// given once.
func byOffset[T any](o Operation, limit, offset int, id func(*T) string, fetch func(limit, offset int) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		start := offset
		previous := map[string]bool{}
		for range maxPages {
			page, err := fetch(limit, offset)
			if err != nil {
				yield(*new(T), err)
				return
			}
			current, fresh := make(map[string]bool, len(page.Items)), 0
			for i := range page.Items {
				key := id(&page.Items[i])
				current[key] = true
				if key != "" && previous[key] {
					continue
				}
				fresh++
				if !yield(page.Items[i], nil) {
					return
				}
			}
			offset += len(page.Items)
			switch {
			case len(page.Items) == 0, page.ended:
				return
			case fresh == 0 && len(page.Items) != limit:
				return // a service that ignores the offset: this was the whole list, once more
			case fresh == 0:
				yield(*new(T), &PagingError{o.String(), fmt.Sprintf("the page from %d on repeats the one before", offset-len(page.Items))})
				return
			}
			previous = current
		}
		yield(*new(T), &PagingError{o.String(), fmt.Sprintf("more than %d pages from %d on", maxPages, start)})
	}
}
