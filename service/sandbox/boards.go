package sandbox

import (
	"slices"
	"strings"
)

// boardNamed returns the board with this name, or nil.
func (st *store) boardNamed(name string) *Board {
	if i := slices.IndexFunc(st.boards, func(b *Board) bool { return strings.EqualFold(b.Name, name) }); i >= 0 {
		return st.boards[i]
	}
	return nil
}

// listBoards gives a bare array, of the boards the key may see. Without the
// filter the archived ones are left out.
func (s *Sandbox) listBoards(c *call) (any, error) {
	q := c.query()
	archived := q.oneOf("archived", "0", "1") == "1"
	if q.err != nil {
		return nil, q.err
	}
	boards := []*Board{}
	for _, b := range s.store.boards {
		if b.Archived == archived && c.key.sees(b.ID) {
			boards = append(boards, b)
		}
	}
	return boards, nil
}

func (s *Sandbox) getBoard(c *call) (any, error) {
	b := s.store.board(c.id)
	if b == nil || !c.key.sees(b.ID) {
		return nil, notFound("board", c.id)
	}
	return b, nil
}
