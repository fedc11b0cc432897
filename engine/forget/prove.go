package forget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal/stored"
)

// A Left is a row, or a file, that still holds something of the person. It says where, never what.
type Left struct {
	Table string `json:"table,omitempty"`
	Key   string `json:"key,omitempty"`
	File  string `json:"file,omitempty"`
}

func (l Left) String() string {
	if l.File != "" {
		return "the file " + l.File
	}
	return fmt.Sprintf("%s %s", l.Table, l.Key)
}

// A Proof says where the search looked for the person, for what, and where it found something.
type Proof struct {
	Rows   int64  `json:"rows"`  // of all tables
	Bytes  int64  `json:"bytes"` // of the journal's files
	Phones int    `json:"phones"`
	Names  int    `json:"names"`
	Texts  int    `json:"texts"`
	Shared int    `json:"shared_names"` // names that others have too, which prove nothing
	Left   []Left `json:"left"`
}

// Prove searches for the person in every row of every table, and in the bytes of the journal's
// files. It does not search for very short texts outside of the person's own rows: others may write
// the same.
func (t *Trail) Prove(ctx context.Context) (*Proof, error) {
	p := &Proof{Phones: len(t.terms.phones), Names: len(t.terms.plain), Texts: len(t.terms.texts), Shared: len(t.shared), Left: []Left{}}
	wanted := t.terms.bytes()
	for _, table := range stored.Tables {
		err := stored.EachRow(ctx, t.keeper, table, func(row []any) error {
			p.Rows++
			if received(table, row) { // the same text by others proves nothing
				data := text(row[table.Index("data")])
				wanted = slices.DeleteFunc(wanted, func(w []byte) bool { return t.terms.wrote(w) && strings.Contains(data, string(w)) })
			}
			if t.found(table, row) {
				p.Left = append(p.Left, Left{Table: table.Name, Key: fmt.Sprint(row[:keyShown(table)]...)})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look through %s: %w", table.Name, err)
		}
	}
	for _, file := range t.keeper.Files() {
		n, found, err := Search(file, wanted)
		if err != nil {
			return nil, err
		}
		if p.Bytes += n; found {
			p.Left = append(p.Left, Left{File: file})
		}
	}
	return p, nil
}

// received reports whether a row is a message that a customer wrote.
func received(table *stored.Table, row []any) bool {
	return table.Name == "events" && row[table.Index("type")] == messageReceived
}

// keyShown is how much of a key may be shown: it may contain texts of the person.
func keyShown(t *stored.Table) int {
	if t.Columns[0].Kind == stored.Number {
		return t.Key
	}
	return 0
}

// found reports whether a row holds something of the person.
func (t *Trail) found(table *stored.Table, row []any) bool {
	quoted := !received(table, row)
	if i := slices.Index(stored.Names(table.Columns), "workspace"); i >= 0 && t.elsewhere(row[i]) {
		return false
	}
	for i, c := range table.Columns {
		s, ok := row[i].(string)
		if !ok {
			continue
		}
		if t.terms.scrub(s, quoted) != s {
			return true
		}
		if v := decode(s); (c.Kind == stored.JSON || c.Name == "record" || c.Name == "value") && v != nil && t.terms.dirty(v, quoted) {
			return true
		}
	}
	return false
}

// Holds reports whether a journal, such as a backup, holds any row about a person, or any of their
// known terms.
func Holds(ctx context.Context, k stored.Keeper, p Person) (bool, error) {
	t, err := Find(ctx, k, p)
	if err != nil {
		return false, err
	}
	errFound := errors.New("found")
	for _, table := range stored.Tables {
		err := stored.EachRow(ctx, k, table, func(row []any) error {
			if t.found(table, row) || t.about(table, row) {
				return errFound
			}
			return nil
		})
		if errors.Is(err, errFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// about reports whether a row is the person's and has content.
func (t *Trail) about(table *stored.Table, row []any) bool {
	f := fields(table, row)
	switch table.Name {
	case "events":
		return f("data") != nil && (t.events[f("seq").(int64)] || t.lanes[laneKey{text(f("workspace")), text(f("lane"))}])
	case "steps":
		return f("record") != nil && t.runs[f("run").(int64)]
	}
	return false
}

// Search searches the bytes of a file for texts, and returns its size. A missing file holds
// nothing.
func Search(file string, wanted [][]byte) (n int64, found bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	longest := 1
	for _, w := range wanted {
		longest = max(longest, len(w))
	}
	buffer, held := make([]byte, 1<<20+longest), 0
	for {
		read, err := f.Read(buffer[held:])
		n += int64(read)
		part := buffer[:held+read]
		if slices.ContainsFunc(wanted, func(w []byte) bool { return bytes.Contains(part, w) }) {
			found = true
		}
		if errors.Is(err, io.EOF) {
			return n, found, nil
		}
		if err != nil {
			return n, found, err
		}
		held = copy(buffer, part[max(0, len(part)-longest+1):]) // a match may span the buffers
	}
}

// Terms are the texts that identify the person, as encoded in a file.
func (t *Trail) Terms() [][]byte { return t.terms.bytes() }
