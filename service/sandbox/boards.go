package sandbox

import "github.com/quandohq/quando/service/sandbox/internal/store"

func boardOperations() []*operation {
	return []*operation{
		read("GET /kanban/boards", "read", (*Sandbox).listBoards),
		read("GET /kanban/boards/{id}", "read", (*Sandbox).getBoard),
	}
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
	for _, b := range s.store.Boards {
		if b.Archived == archived && c.key.Sees(b.ID) {
			boards = append(boards, b)
		}
	}
	return boards, nil
}

func (s *Sandbox) getBoard(c *call) (any, error) {
	b := s.store.Board(c.id)
	if b == nil || !c.key.Sees(b.ID) {
		return nil, store.NotFound("board", c.id)
	}
	return b, nil
}
